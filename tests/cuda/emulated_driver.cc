// SPDX-License-Identifier: Apache-2.0
// What of the emulation depends on the version of the toolkit, and the functions of the driver that
// the library asks for where its runtime is too old to tell.
#include <cudaTypedefs.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "tests/cuda/emulated_runtime.h"
#include "tests/cuda/emulated_state.h"

using namespace dovetail::test::emulated_cuda::detail;

namespace {

/// A call of the driver, which leaves no error for `cudaGetLastError`.
template <class Body>
CUresult driver_call(Function function, const Body& body) {
  const cudaError_t failure = begin(function);
  return static_cast<CUresult>(failure == cudaSuccess ? body() : failure);
}

/// Each device has one context.
CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
}

CUresult stream_get_context(CUstream stream, CUcontext* context) {
  return driver_call("cuStreamGetCtx", [&] {
    const auto found = State::get().stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    *context = context_of(found->device());
    return cudaSuccess;
  });
}

CUresult push_context(CUcontext context) {
  return driver_call("cuCtxPushCurrent", [&] {
    const auto number = reinterpret_cast<std::uintptr_t>(context);
    if (number == 0 || number > static_cast<std::uintptr_t>(State::get().device_count))
      return cudaErrorDeviceUninitialized;
    ThreadState& thread = this_thread();
    thread.below.push_back(thread.device);
    thread.device = static_cast<int>(number) - 1;
    return cudaSuccess;
  });
}

CUresult pop_context(CUcontext* context) {
  return driver_call("cuCtxPopCurrent", [&] {
    ThreadState& thread = this_thread();
    if (thread.below.empty()) return cudaErrorDeviceUninitialized;
    *context = context_of(thread.device);
    thread.device = thread.below.back();
    thread.below.pop_back();
    return cudaSuccess;
  });
}

CUresult get_device_of_context(CUdevice* device) {
  return driver_call("cuCtxGetDevice", [&] {
    *device = this_thread().device;
    return cudaSuccess;
  });
}

struct DriverFunction {
  std::string_view name;
  unsigned version;  ///< Of CUDA, with which its form came.
  void* address;
};

/// Each in one form, the only one that a runtime before 12.5 gives.
void* driver_function(std::string_view name, unsigned version) {
  const auto functions = std::to_array<DriverFunction>({
      {"cuStreamGetCtx", 9020, reinterpret_cast<void*>(PFN_cuStreamGetCtx_v9020{stream_get_context})},
      {"cuCtxPushCurrent", 4000, reinterpret_cast<void*>(PFN_cuCtxPushCurrent_v4000{push_context})},
      {"cuCtxPopCurrent", 4000, reinterpret_cast<void*>(PFN_cuCtxPopCurrent_v4000{pop_context})},
      {"cuCtxGetDevice", 2000, reinterpret_cast<void*>(PFN_cuCtxGetDevice_v2000{get_device_of_context})},
  });
  for (const DriverFunction& function : functions) {
    if (function.name == name && (version == 0 || function.version == version)) return function.address;
  }
  return nullptr;
}

}  // namespace

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return call("cudaStreamGetDevice", [&] {
    if (State::get().driver_version < 12080) return cudaErrorCallRequiresNewerDriver;
    const auto found = State::get().stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    *device = found->device();
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int version,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  return call("cudaGetDriverEntryPoint", [&] {
    *function = driver_function(name, version);
    if (result != nullptr) {
      *result = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
    }
    return cudaSuccess;
  });
}
#elif CUDART_VERSION >= 12000
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  return call("cudaGetDriverEntryPoint", [&] {
    *function = driver_function(name, 0);
    if (result != nullptr) {
      *result = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
    }
    return cudaSuccess;
  });
}
#else
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long) {
  return call("cudaGetDriverEntryPoint", [&] {
    *function = driver_function(name, 0);
    return *function == nullptr ? cudaErrorSymbolNotFound : cudaSuccess;
  });
}
#endif
