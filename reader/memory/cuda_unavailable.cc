// SPDX-License-Identifier: Apache-2.0
// The functions that need CUDA, for builds without it: all return an error.
#include "reader/memory/device_events.h"
#include "reader/memory/device_ring.h"
#include "reader/memory/host_registration.h"

namespace dovetail::detail {

namespace {

Error unavailable(Errc code) {
  return Error(code, "this library was built without CUDA");
}

}  // namespace

Result<RegistrationDevice> HostRegistration::device(int) {
  return unavailable(Errc::registration_failed);
}

Result<HostRegistration> HostRegistration::make(std::span<std::byte>, const RegistrationDevice&) {
  return unavailable(Errc::registration_failed);
}

bool HostRegistration::is_page_locked(std::span<const std::byte>, int) noexcept {
  return false;
}

HostRegistration& HostRegistration::operator=(HostRegistration&& other) noexcept {
  begin_ = std::exchange(other.begin_, nullptr);
  return *this;
}

bool HostRegistration::unregister() noexcept {
  return true;
}

DeviceEvents::~DeviceEvents() = default;

Result<DeviceEvent> DeviceEvents::record(DeviceStream, int) {
  return unavailable(Errc::device_failed);
}

bool DeviceEvents::passed(const DeviceEvent&) noexcept {
  return false;
}

void DeviceEvents::forget_passed(std::vector<DeviceEvent>& events) noexcept {
  events.clear();
}

bool DeviceEvents::wait(const DeviceEvent&) noexcept {
  return true;
}

void DeviceEvents::make_device_current(const DeviceEvent&) noexcept {}

Result<void> DeviceEvents::hold_back(DeviceStream, const DeviceEvent&) {
  return unavailable(Errc::device_failed);
}

void DeviceEvents::give_back(const DeviceEvent&) noexcept {}

Result<std::shared_ptr<DeviceRing>> DeviceRing::make(int, std::uint32_t, std::size_t) {
  return unavailable(Errc::device_failed);
}

// Without CUDA no ring or lease can exist, so the functions below are never called.

DeviceRing::~DeviceRing() = default;

Result<void> DeviceRing::make_current() {
  return unavailable(Errc::device_failed);
}

Result<std::shared_ptr<DeviceLease>> DeviceRing::acquire() {
  return unavailable(Errc::device_failed);
}

Result<void> DeviceRing::fill(DeviceLease&, ByteView) {
  return unavailable(Errc::device_failed);
}

bool DeviceRing::finish_copies() noexcept {
  return true;
}

void DeviceRing::on_release(std::function<void()>) {}

DeviceLease::~DeviceLease() = default;

void DeviceLease::hand_over() noexcept {}

bool DeviceLease::ready() const noexcept {
  return false;
}

Result<void> DeviceLease::wait_on(DeviceStream) {
  return unavailable(Errc::device_failed);
}

}  // namespace dovetail::detail
