// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dovetail/batch_reader.h>
#include <dovetail/error.h>

#include "reader/memory/host_registration.h"

namespace dovetail::detail {

/// One anonymous mapping for batches, registered with CUDA where asked and possible.
///
/// Ownership: owns the mapping. Where unregistering fails the mapping is left in place rather than pulled from under a
///            device.
/// Threads:   move-only, not synchronised.
class HostMemory {
 public:
  /// Maps and, by `mode`, registers. With `huge_pages`, asks the system for them, which need not have any; what is touched
  /// is then resident 2 MiB at a time. Errors: the system's, and `registration_failed` with `Registration::required`.
  static Result<HostMemory> make(std::size_t bytes, Registration mode, bool huge_pages = false);

  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  std::span<std::byte> bytes() const noexcept { return {begin_, size_}; }
  bool registered() const noexcept { return registration_.active(); }
  /// Why the memory is not registered; empty where it is.
  const std::string& note() const noexcept { return note_; }

 private:
  void free() noexcept;

  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
  HostRegistration registration_;
  std::string note_;
};

}  // namespace dovetail::detail
