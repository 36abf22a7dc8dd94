// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <string>

#include "reader/memory/host_registration.h"

namespace dovetail::detail {

namespace {

Error cuda_failure(const char* what, cudaError_t status) {
  cudaGetLastError();  // a handled failure must not surface in the caller's next CUDA call
  return Error(Errc::registration_failed, std::string(what) + ": " + cudaGetErrorName(status));
}

}  // namespace

Result<HostRegistration> HostRegistration::make(std::byte* begin, std::size_t bytes) {
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess) {
    return cuda_failure("no CUDA device can be used", status);
  }
  if (devices == 0) return Error(Errc::registration_failed, "there is no CUDA device");
  if (const cudaError_t status = cudaHostRegister(begin, bytes, cudaHostRegisterPortable); status != cudaSuccess) {
    return cuda_failure("cudaHostRegister refused the slots", status);
  }
  return HostRegistration(begin);
}

HostRegistration& HostRegistration::operator=(HostRegistration&& other) noexcept {
  if (this != &other) {
    unregister();
    begin_ = other.begin_;
    other.begin_ = nullptr;
  }
  return *this;
}

bool HostRegistration::unregister() noexcept {
  if (begin_ == nullptr) return true;
  const bool done = cudaHostUnregister(begin_) == cudaSuccess;
  if (!done) cudaGetLastError();
  begin_ = nullptr;
  return done;
}

}  // namespace dovetail::detail
