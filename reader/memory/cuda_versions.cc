// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/cuda_versions.h"

#include <cudaTypedefs.h>

#include <string>

#include "format/try.h"
#include "reader/memory/cuda_calls.h"

namespace dovetail::detail {

namespace {

/// A function of the driver, with the interface that it has had since `version`.
template <class Function>
Result<Function> driver_function(const char* name, [[maybe_unused]] unsigned version) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  cudaError_t status = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream);
#else
  // This call returns the newest interface that the runtime knows. The functions below changed only
  // in later versions.
  cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableLegacyStream);
#endif
  // 11.8 returns this error itself.
  if (status == cudaSuccess && found == nullptr) status = cudaErrorSymbolNotFound;
  if (status != cudaSuccess) {
    return cuda_failure(Errc::device_failed, (std::string("cudaGetDriverEntryPoint of ") + name).c_str(), status);
  }
  return reinterpret_cast<Function>(found);
}

/// The driver numbers failures as the runtime does. Its failures do not stay pending in the
/// runtime.
Result<void> driver_result(const char* call, CUresult result) {
  if (result == CUDA_SUCCESS) return {};
  return Error(Errc::device_failed, std::string(call) + ": " + cudaGetErrorName(static_cast<cudaError_t>(result)));
}

}  // namespace

Result<int> device_of(cudaStream_t stream) {
#if CUDART_VERSION >= 12080
  int device = 0;
  const cudaError_t status = cudaStreamGetDevice(stream, &device);
  if (status == cudaSuccess) return device;
  // This runtime also works with older drivers, which lack this call.
  if (status != cudaErrorCallRequiresNewerDriver)
    return cuda_failure(Errc::device_failed, "cudaStreamGetDevice", status);
  forget(status);
#endif
  return device_of_by_driver(stream);
}

Result<int> device_of_by_driver(cudaStream_t stream) {
  int device = 0;
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    DOVETAIL_TRY(cuda_result("cudaGetDevice", cudaGetDevice(&device)));
    return device;
  }
  DOVETAIL_ASSIGN(const auto context_of, driver_function<PFN_cuStreamGetCtx_v9020>("cuStreamGetCtx", 9020));
  DOVETAIL_ASSIGN(const auto push, driver_function<PFN_cuCtxPushCurrent_v4000>("cuCtxPushCurrent", 4000));
  DOVETAIL_ASSIGN(const auto device_of_current, driver_function<PFN_cuCtxGetDevice_v2000>("cuCtxGetDevice", 2000));
  DOVETAIL_ASSIGN(const auto pop, driver_function<PFN_cuCtxPopCurrent_v4000>("cuCtxPopCurrent", 4000));

  CUcontext context = nullptr;
  DOVETAIL_TRY(driver_result("cuStreamGetCtx", (context_of)(stream, &context)));
  DOVETAIL_TRY(driver_result("cuCtxPushCurrent", (push)(context)));
  const Result<void> asked = driver_result("cuCtxGetDevice", (device_of_current)(&device));
  DOVETAIL_TRY(driver_result("cuCtxPopCurrent", (pop)(&context)));
  DOVETAIL_TRY(asked);
  return device;
}

}  // namespace dovetail::detail
