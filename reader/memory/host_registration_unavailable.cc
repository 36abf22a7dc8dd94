// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/host_registration.h"

namespace dovetail::detail {

Result<HostRegistration> HostRegistration::make(std::byte*, std::size_t) {
  return Error(Errc::registration_failed, "this library was built without CUDA");
}

HostRegistration& HostRegistration::operator=(HostRegistration&& other) noexcept {
  begin_ = other.begin_;
  other.begin_ = nullptr;
  return *this;
}

bool HostRegistration::unregister() noexcept {
  return true;
}

}  // namespace dovetail::detail
