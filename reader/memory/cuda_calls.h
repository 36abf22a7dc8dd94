// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Takes back a failure that is handled: it must not surface in the caller's next CUDA call. One of the caller's own that
/// is pending stays.
inline void forget(cudaError_t status) noexcept {
  if (status != cudaSuccess && cudaPeekAtLastError() == status) cudaGetLastError();
}

/// What a failed call of the CUDA runtime becomes, by the name of the call and of the failure, which is forgotten.
inline Error cuda_failure(Errc code, const char* call, cudaError_t status) {
  forget(status);
  return Error(code, std::string(call) + ": " + cudaGetErrorName(status));
}

inline Result<void> cuda_result(const char* call, cudaError_t status) {
  if (status == cudaSuccess) return {};
  return cuda_failure(Errc::device_failed, call, status);
}

/// Runs work on a thread where the device is current: this one if it is so here, else one for the purpose. To make a device
/// current and then the one before again would give this thread's device a context, which it may not have and not want.
/// Gives `work` how making it current went. Needs: `work` does not throw.
void run_on_device(int device, const std::function<void(cudaError_t)>& work) noexcept;

/// From now on `process_ends` tells when static objects are being destroyed. To be called after a call of CUDA: what is
/// registered later ends earlier, and CUDA's own end must not come first.
void watch_for_end_of_process() noexcept;
/// Whether no call of CUDA may be made any more; what it holds is then left to the system.
bool process_ends() noexcept;

/// Errors: `stream_captured` while the stream is being captured, or where it is the default stream that a captured one would
///         have to wait for; `device_failed`.
inline Result<void> outside_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t status = cudaStreamIsCapturing(stream, &capture);
  if (status == cudaErrorStreamCaptureImplicit || capture != cudaStreamCaptureStatusNone) {
    forget(status);
    return Error(Errc::stream_captured, "take and release batches outside of captures");
  }
  return cuda_result("cudaStreamIsCapturing", status);
}

/// While it lives, what this thread calls is not held against captures of streams that are under way elsewhere: asking an
/// event would invalidate them otherwise.
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
