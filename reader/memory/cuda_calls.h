// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Clears the runtime's pending error after a failure that is handled, so that the caller's next
/// CUDA call does not return it. A pending error of the caller that differs from `status` stays.
inline void forget(cudaError_t status) noexcept {
  if (status != cudaSuccess && cudaPeekAtLastError() == status) cudaGetLastError();
}

/// Makes an error from a failed call of the CUDA runtime, and forgets the failure. The error names
/// the call and the failure.
inline Error cuda_failure(Errc code, const char* call, cudaError_t status) {
  forget(status);
  return Error(code, std::string(call) + ": " + cudaGetErrorName(status));
}

inline Result<void> cuda_result(const char* call, cudaError_t status) {
  if (status == cudaSuccess) return {};
  return cuda_failure(Errc::device_failed, call, status);
}

/// Runs `work` on a thread whose current device is `device`: this thread if that holds already,
/// else a temporary thread. Switching the device of this thread and back would create a context for
/// its own device, which the caller may not want. `work` gets the result of making the device
/// current. Needs: `work` does not throw.
void run_on_device(int device, const std::function<void(cudaError_t)>& work) noexcept;

/// Makes `process_ends` return true once static objects are being destroyed. Call this after a call
/// of CUDA: handlers that are registered later run earlier, so this one then runs before CUDA shuts
/// down.
void watch_for_end_of_process() noexcept;
/// Whether CUDA must not be called any more. Resources of CUDA are then left to the system.
bool process_ends() noexcept;

/// Errors: `stream_captured` if the stream is being captured, or if it is the default stream and a
///         captured stream would have to wait for it; `device_failed`.
inline Result<void> outside_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t status = cudaStreamIsCapturing(stream, &capture);
  if (status == cudaErrorStreamCaptureImplicit || capture != cudaStreamCaptureStatusNone) {
    forget(status);
    return Error(Errc::stream_captured, "take and release batches outside of captures");
  }
  return cuda_result("cudaStreamIsCapturing", status);
}

/// While this object lives, calls of this thread do not invalidate captures of streams on other
/// threads. Otherwise a query of an event would.
class OutsideCaptures {
 public:
  OutsideCaptures() { forget(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  OutsideCaptures(const OutsideCaptures&) = delete;
  OutsideCaptures& operator=(const OutsideCaptures&) = delete;
  ~OutsideCaptures() { forget(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace dovetail::detail
