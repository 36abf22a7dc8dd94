// SPDX-License-Identifier: Apache-2.0
// Streams and events of the emulated CUDA runtime.
#include "tests/cuda/emulated_state.h"

using namespace dovetail::test::emulated_cuda::detail;

namespace {

/// What the stream answers that is asked for its work, or waited for: a capture, of which nothing
/// will ever be done, does not bear the question, whatever the mode of the thread.
template <class Ask>
cudaError_t ask_stream(cudaStream_t handle, const Ask& ask) {
  const auto stream = State::get().stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const auto capture = State::get().captures.of(*stream)) {
    capture->invalidate();
    return cudaErrorStreamCaptureUnsupported;
  }
  return ask(*stream, stream->last());
}

/// As with a stream.
template <class Ask>
cudaError_t ask_event(cudaEvent_t handle, const Ask& ask) {
  const auto event = State::get().event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  const Moment moment = event->moment();
  if (moment.capture != nullptr) {
    moment.capture->invalidate();
    return cudaErrorCapturedEvent;
  }
  return moment.stream == nullptr ? cudaSuccess : ask(*moment.stream, moment.number);
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return call("cudaStreamCreateWithFlags", [&] {
    if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
    *stream = State::get().add_stream(this_thread().device);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy",
              [&] { return State::get().remove_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&] {
    const auto found = State::get().stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    const bool is_default = stream == nullptr || stream == cudaStreamLegacy;
    if (is_default && State::get().captures.any_global()) return cudaErrorStreamCaptureImplicit;
    const auto capture = State::get().captures.of(*found);
    *status = capture == nullptr       ? cudaStreamCaptureStatusNone
              : capture->invalidated() ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call_without_context("cudaThreadExchangeStreamCaptureMode", [&] {
    if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) {
      return cudaErrorInvalidValue;
    }
    std::swap(*mode, this_thread().capture_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call_unsafe("cudaStreamQuery", [&] {
    return ask_stream(stream, [](const Stream& asked, std::uint64_t number) { return asked.query(number); });
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call_unsafe("cudaStreamSynchronize", [&] {
    return ask_stream(stream, [](const Stream& asked, std::uint64_t number) { return asked.wait(number); });
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call("cudaLaunchHostFunc", [&] {
    if (function == nullptr) return cudaErrorInvalidValue;
    const auto found = State::get().stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if (const auto capture = State::get().captures.of(*found)) return capture->take();
    return found->submit([=](Stream&) {
      this_thread().in_host_function = true;  // from where CUDA must not be called
      function(data);
      this_thread().in_host_function = false;
    });
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return call("cudaStreamWaitEvent", [&] {
    const auto waiting = State::get().stream(stream);
    const auto awaited = State::get().event(event);
    if (waiting == nullptr || awaited == nullptr) return cudaErrorInvalidResourceHandle;
    if ((flags & ~unsigned{cudaEventWaitExternal}) != 0) return cudaErrorInvalidValue;
    if (const auto capture = State::get().captures.of(*waiting)) return capture->take();
    // What it stands for now: recorded again it stands for something else, but not here.
    const Moment moment = awaited->moment();
    if (moment.capture != nullptr) return cudaErrorCapturedEvent;
    if (moment.stream == nullptr || moment.stream == waiting) return cudaSuccess;
    return waiting->submit([moment](Stream& self) {
      const cudaError_t status = moment.stream->wait(moment.number);
      if (status != cudaSuccess) self.abandon(status);  // before the work behind it, whatever is abandoned first
    });
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call("cudaEventCreateWithFlags", [&] {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (event == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    *event = State::get().add_event(this_thread().device);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy",
              [&] { return State::get().remove_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&] {
    const auto recorded = State::get().event(event);
    const auto found = State::get().stream(stream);
    if (recorded == nullptr || found == nullptr) return cudaErrorInvalidResourceHandle;
    if (recorded->device() != found->device()) return cudaErrorInvalidResourceHandle;
    if (const auto capture = State::get().captures.of(*found)) {
      const cudaError_t status = capture->take();
      if (status == cudaSuccess) recorded->record({.capture = capture});
      return status;
    }
    recorded->record({.stream = found, .number = found->last()});
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call_unsafe("cudaEventQuery", [&] {
    return ask_event(event, [](const Stream& asked, std::uint64_t number) { return asked.query(number); });
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call_unsafe("cudaEventSynchronize", [&] {
    return ask_event(event, [](const Stream& asked, std::uint64_t number) { return asked.wait(number); });
  });
}
