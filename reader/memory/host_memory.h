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
  int device = -1;  ///< Registers the memory; its node is preferred. -1 is the current device.
  bool huge_pages = false;
  bool refuse_huge_pages = false;
  /// Provides the memory, which is then neither mapped nor registered here.
  SlotMemoryProvider provider;
  unsigned threads = 1;  ///< Threads that populate the memory before it is registered.
};

/// Memory for batches: one anonymous mapping, registered with CUDA if wanted and possible, or
/// memory that the caller provides.
///
/// Registered memory is populated at once, on the node of the device. Forked children do not get
/// it, because a child would need copies of all its pages. Other mappings get pages as they are
/// written.
///
/// Ownership: owns the mapping, or shares provided memory.
/// Threads:   move-only, not synchronised. One that was moved from may only be assigned or destroyed.
class HostMemory {
 public:
  /// Errors: those of the system and of the provider; `invalid_option` for provided memory that is
  ///         too small or not aligned to `SlabLayout::kAlignment`; `registration_failed` with
  ///         `Registration::required`.
  static Result<HostMemory> make(std::size_t bytes, const HostMemoryOptions& options);

  HostMemory() = default;
  HostMemory(HostMemory&&) noexcept = default;
  HostMemory& operator=(HostMemory&&) noexcept = default;
  ~HostMemory() = default;

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Whether CUDA knows the memory as page-locked.
  bool registered() const noexcept { return page_locked_; }
  /// Whether the memory was provided by the caller.
  bool provided() const noexcept { return provided_; }
  /// The reason why the memory is not registered; empty if it is.
  const std::string& note() const noexcept { return note_; }
  /// The preferred NUMA node; -1 if none was set.
  int numa_node() const noexcept { return numa_node_; }
  /// The device in whose context the memory was registered here; -1 if it was not.
  int device() const noexcept { return device_; }
  /// Leaves the memory in place for ever, because a device may still use it.
  void leave() noexcept;
  /// Time taken to populate and register the memory.
  std::chrono::nanoseconds registration_time() const noexcept { return registration_time_; }

 private:
  static Result<HostMemory> map(std::size_t bytes, const HostMemoryOptions& options);
  static Result<HostMemory> adopt(std::size_t bytes, const HostMemoryOptions& options);
  Result<void> register_with_device(const HostMemoryOptions& options, HostRegistration& registration);

  std::span<std::byte> bytes_;
  std::shared_ptr<void> owner_;  // frees the bytes
  bool provided_ = false;
  bool page_locked_ = false;
  int numa_node_ = -1;
  int device_ = -1;
  std::chrono::nanoseconds registration_time_{};
  std::string note_;
};

}  // namespace dovetail::detail
