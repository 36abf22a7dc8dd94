// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <dovetail/error.h>

namespace dovetail::detail {

/// A device that memory can be registered for.
struct RegistrationDevice {
  int number = 0;           ///< As CUDA numbers devices.
  std::string pci_address;  ///< Empty if unknown.
};

/// Keeps a range of memory page-locked and known to CUDA while this object lives.
///
/// Ownership: borrows the range. Free the range only after `unregister()` has succeeded or this
///            object is gone.
/// Threads:   move-only, not synchronised.
/// Errors:    `registration_failed` with the reason: built without CUDA, no device, no permission
///            to lock pages. A failure registers no part of the range and leaves no CUDA error
///            pending.
class HostRegistration {
 public:
  /// The device with this number; -1 means the device that is current on this thread. Creates no
  /// context.
  static Result<RegistrationDevice> device(int number);

  /// Registers the range for all devices of the process, in the context of `device`. Needs: the
  /// range is page-aligned and not empty.
  static Result<HostRegistration> make(std::span<std::byte> range, const RegistrationDevice& device);

  /// Whether CUDA knows a range that was registered elsewhere as page-locked. Checks its first and
  /// its last byte, on a thread where `device` is current, or for -1 on this thread.
  static bool is_page_locked(std::span<const std::byte> range, int device = -1) noexcept;

  HostRegistration() = default;
  HostRegistration(HostRegistration&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), device_(other.device_) {}
  HostRegistration& operator=(HostRegistration&& other) noexcept;
  ~HostRegistration() { unregister(); }

  /// Ends the registration. Returns false if the driver refuses, as it does while the process ends.
  /// The range must then stay mapped, because a device may still use its physical pages.
  bool unregister() noexcept;

 private:
  HostRegistration(std::byte* begin, int device) : begin_(begin), device_(device) {}
  std::byte* begin_ = nullptr;
  int device_ = 0;
};

}  // namespace dovetail::detail
