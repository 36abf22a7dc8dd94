// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <dovetail/error.h>
#include <dovetail/slot_memory.h>

#include "reader/memory/host_registration.h"

namespace dovetail::detail {

struct HostMemoryOptions {
  Registration registration = Registration::preferred;
  int device = -1;  ///< That registers it, and whose node it lies on; -1 is the current one.
  bool huge_pages = false;
  bool refuse_huge_pages = false;
  SlotMemoryProvider provider;  ///< Gives the memory, which is then neither mapped nor registered here.
  unsigned threads = 1;         ///< That give it its pages before it is registered.
};

/// Memory for batches: one anonymous mapping, registered with CUDA where asked and possible, or what the caller provides.
/// What is registered has its pages at once, on the node of the device, and is no part of a forked child, which would have to
/// be given copies of all of them; other mappings get pages as they are written.
///
/// Ownership: owns the mapping, or shares what was provided. Where unregistering fails the mapping is left in place rather
///            than pulled from under a device.
/// Threads:   move-only, not synchronised.
class HostMemory {
 public:
  /// Errors: the system's, the provider's, `invalid_option` for provided memory that is too small or not aligned to
  ///         `SlabLayout::kAlignment`; `registration_failed` with `Registration::required`.
  static Result<HostMemory> make(std::size_t bytes, const HostMemoryOptions& options);

  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  std::span<std::byte> bytes() const noexcept { return {begin_, size_}; }
  /// Whether CUDA knows it as page-locked.
  bool registered() const noexcept { return page_locked_; }
  /// Whether it is somebody else's.
  bool provided() const noexcept { return provided_; }
  /// Why the memory is not registered; empty where it is.
  const std::string& note() const noexcept { return note_; }
  /// The node that it was asked to lie on; -1 where it does not matter.
  int numa_node() const noexcept { return numa_node_; }
  /// In whose context it was registered here; -1 where it was not.
  int device() const noexcept { return device_; }
  /// Leaves the mapping in place for ever: a device may still use it.
  void leave() noexcept;
  /// For giving it its pages and registering it.
  std::chrono::nanoseconds registration_time() const noexcept { return registration_time_; }

 private:
  static Result<HostMemory> map(std::size_t bytes, const HostMemoryOptions& options);
  static Result<HostMemory> adopt(std::size_t bytes, const HostMemoryOptions& options);
  Result<void> register_with_device(const HostMemoryOptions& options);
  void free() noexcept;

  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
  HostRegistration registration_;
  std::shared_ptr<void> owner_;
  bool provided_ = false;
  bool page_locked_ = false;
  int numa_node_ = -1;
  int device_ = -1;
  std::chrono::nanoseconds registration_time_{};
  std::string note_;
};

}  // namespace dovetail::detail
