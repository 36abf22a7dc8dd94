// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Keeps a range of memory page-locked and known to CUDA while this object lives.
///
/// Ownership: borrows the range; free it only after `unregister()` has succeeded or this object is gone.
/// Threads:   move-only, not synchronised.
/// Errors:    `registration_failed` with the reason by name: built without CUDA, no device, no permission to lock the
///            pages. A failure registers no part of the range and leaves no CUDA error pending.
class HostRegistration {
 public:
  /// Registers [begin, begin + bytes) for all devices of the process. Needs: page-aligned `begin`, `bytes > 0`.
  static Result<HostRegistration> make(std::byte* begin, std::size_t bytes);

  HostRegistration() = default;
  HostRegistration(HostRegistration&& other) noexcept : begin_(other.begin_) { other.begin_ = nullptr; }
  HostRegistration& operator=(HostRegistration&& other) noexcept;
  ~HostRegistration() { unregister(); }

  bool active() const noexcept { return begin_ != nullptr; }

  /// Ends the registration. False where the driver refuses, as it does while the process ends: the range must then stay
  /// mapped, because a device may still hold its physical pages.
  bool unregister() noexcept;

 private:
  explicit HostRegistration(std::byte* begin) : begin_(begin) {}
  std::byte* begin_ = nullptr;
};

}  // namespace dovetail::detail
