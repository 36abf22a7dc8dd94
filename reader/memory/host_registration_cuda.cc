// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/cuda_calls.h"
#include "reader/memory/host_registration.h"

namespace dovetail::detail {

Result<RegistrationDevice> HostRegistration::device(int number) {
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess) {
    return cuda_failure(Errc::registration_failed, "no CUDA device can be used", status);
  }
  if (devices == 0) return Error(Errc::registration_failed, "there is no CUDA device");
  watch_for_end_of_process();
  RegistrationDevice device{.number = number, .pci_address = {}};
  if (number < 0) {
    if (const cudaError_t status = cudaGetDevice(&device.number); status != cudaSuccess) {
      return cuda_failure(Errc::registration_failed, "cudaGetDevice", status);
    }
  }
  if (device.number >= devices) {
    return Error(Errc::registration_failed, "there is no CUDA device " + std::to_string(number) +
                                                "; this process sees " + std::to_string(devices));
  }
  char address[32] = {};
  const cudaError_t status = cudaDeviceGetPCIBusId(address, sizeof(address), device.number);
  if (status == cudaSuccess) device.pci_address = address;
  forget(status);
  return device;
}

Result<HostRegistration> HostRegistration::make(std::span<std::byte> range, const RegistrationDevice& device) {
  cudaError_t status = cudaSuccess;
  run_on_device(device.number, [&](cudaError_t current) {
    const OutsideCaptures outside;
    status = current == cudaSuccess ? cudaHostRegister(range.data(), range.size(), cudaHostRegisterPortable) : current;
    forget(status);
  });
  if (status != cudaSuccess) {
    return cuda_failure(Errc::registration_failed, "cudaHostRegister refused the slots", status);
  }
  return HostRegistration(range.data(), device.number);
}

bool HostRegistration::is_page_locked(std::span<const std::byte> range, int device) noexcept {
  bool locked = true;
  const auto ask = [&](cudaError_t) {
    for (const std::byte* const at : {range.data(), range.data() + range.size() - 1}) {
      cudaPointerAttributes attributes{};
      const cudaError_t status = cudaPointerGetAttributes(&attributes, at);
      forget(status);
      locked = locked && status == cudaSuccess && attributes.type == cudaMemoryTypeHost;
    }
  };
  if (device < 0) {
    ask(cudaSuccess);
  } else {
    run_on_device(device, ask);
  }
  return locked;
}

HostRegistration& HostRegistration::operator=(HostRegistration&& other) noexcept {
  if (this != &other) {
    unregister();
    begin_ = std::exchange(other.begin_, nullptr);
    device_ = other.device_;
  }
  return *this;
}

bool HostRegistration::unregister() noexcept {
  if (begin_ == nullptr) return true;
  std::byte* const begin = std::exchange(begin_, nullptr);
  if (process_ends()) return false;
  cudaError_t status = cudaSuccess;
  run_on_device(device_, [&](cudaError_t) {
    const OutsideCaptures outside;
    status = cudaHostUnregister(begin);
    forget(status);
  });
  return status == cudaSuccess;
}

}  // namespace dovetail::detail
