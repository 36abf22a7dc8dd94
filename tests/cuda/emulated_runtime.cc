// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_runtime.h"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "tests/cuda/emulated_state.h"

namespace dovetail::test::emulated_cuda {

using detail::State;

void reset() {
  const std::string left = leftovers();
  State::get().clear();
  if (!left.empty()) throw std::logic_error("left in the emulated CUDA runtime: " + left);
}

std::string leftovers() {
  return State::get().leftovers();
}

void set_device_count(int count) {
  if (count < 0 || count > detail::kMostDevices) throw std::invalid_argument("0 to 16 devices can be emulated");
  State::get().device_count = count;
}

void set_driver_version(int version) {
  State::get().driver_version = version;
}

void fail_next(const char* function, cudaError_t error) {
  State::get().failures[detail::index_of(function)] = error;
}

void break_context(cudaError_t error) {
  State& state = State::get();
  state.captures.invalidate_all();
  const auto streams = state.all_streams();
  for (const auto& stream : streams) stream->abandon(error);  // all of them before any is waited for
  for (const auto& stream : streams) stream->settle();
  state.broken = error;  // only now: whoever sees it may use the memory again
}

bool context_broken() {
  return State::get().broken.load() != cudaSuccess;
}

void set_copy_delay(std::chrono::microseconds delay) {
  State::get().copy_delay = delay;
}

std::uint64_t calls(const char* function) {
  return State::get().calls[detail::index_of(function)];
}

std::vector<int> contexts() {
  return State::get().contexts();
}

void begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (stream == nullptr || stream == cudaStreamLegacy) {
    throw std::invalid_argument("the default stream cannot be captured");
  }
  const std::shared_ptr<detail::Stream> found = State::get().stream(stream);
  if (found == nullptr) throw std::invalid_argument("there is no such stream");
  if (!State::get().captures.begin(found, mode)) throw std::invalid_argument("the stream is being captured");
}

bool end_capture(cudaStream_t stream) {
  const std::shared_ptr<detail::Stream> found = State::get().stream(stream);
  const auto capture = found == nullptr ? nullptr : State::get().captures.end(*found);
  if (capture == nullptr) throw std::invalid_argument("the stream is not being captured");
  return !capture->invalidated();
}

void Gate::block(cudaStream_t stream) {
  const std::shared_ptr<detail::Stream> blocked = State::get().stream(stream);
  if (blocked == nullptr) throw std::invalid_argument("there is no such stream");
  const cudaError_t status =
      blocked->submit([open = open_](detail::Stream& self) { (void)self.hold([&] { return open->load(); }); });
  if (status != cudaSuccess) throw std::invalid_argument(std::string("the stream: ") + cudaGetErrorName(status));
  const std::lock_guard lock(mutex_);
  blocked_.push_back(blocked);
}

void Gate::open() {
  open_->store(true);
  const std::lock_guard lock(mutex_);
  for (const auto& stream : blocked_) stream->wake();
  blocked_.clear();
}

namespace detail {
namespace {

struct Description {
  cudaError_t error;
  const char* name;
  const char* text;
};

// The ones that are given here, and the ones that tests ask for.
constexpr auto kDescriptions = std::to_array<Description>({
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorCallRequiresNewerDriver, "cudaErrorCallRequiresNewerDriver",
     "API call is not supported in the installed CUDA driver"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorOperatingSystem, "cudaErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
});

const Description& describe(cudaError_t error) {
  static constexpr Description kNone = {cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};
  for (const Description& description : kDescriptions) {
    if (description.error == error) return description;
  }
  return kNone;
}

bool is_device(int device) {
  return device >= 0 && device < State::get().device_count;
}

/// The last error, of which a broken context has only one.
cudaError_t last_error(Function function, bool clear) {
  const cudaError_t failure = begin(function);
  if (failure != cudaSuccess) return failure;
  cudaError_t& last = this_thread().last_error;
  const cudaError_t error = last;
  if (clear) last = cudaSuccess;
  return error;
}

}  // namespace
}  // namespace detail
}  // namespace dovetail::test::emulated_cuda

using namespace dovetail::test::emulated_cuda::detail;  // the rest is CUDA's, in its own namespace

const char* cudaGetErrorName(cudaError_t error) {
  return describe(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  return describe(error).text;
}

cudaError_t cudaGetLastError() {
  return last_error("cudaGetLastError", true);
}

cudaError_t cudaPeekAtLastError() {
  return last_error("cudaPeekAtLastError", false);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return call_without_device("cudaRuntimeGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return call_without_device("cudaDriverGetVersion", [&] {
    *version = State::get().driver_version;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call_without_device("cudaGetDeviceCount", [&] {
    *count = State::get().device_count;
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call_without_context("cudaGetDevice", [&] {
    *device = this_thread().device;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call_without_context("cudaSetDevice", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    this_thread().device = device;
    State::get().make_context(device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* address, int length, int device) {
  return call_without_context("cudaDeviceGetPCIBusId", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    // A bus that needs letters, which CUDA writes as capitals and Linux does not.
    char text[16];
    const int size = std::snprintf(text, sizeof(text), "0000:%02X:00.0", 0xE0u + static_cast<unsigned>(device));
    if (address == nullptr || length <= size) return cudaErrorInvalidValue;
    std::snprintf(address, static_cast<std::size_t>(length), "%s", text);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call_without_context("cudaDeviceGetAttribute", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    switch (attribute) {
      case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
      case cudaDevAttrAsyncEngineCount:
        *value = 2;
        break;
      case cudaDevAttrComputeCapabilityMinor:
      case cudaDevAttrIntegrated:
      case cudaDevAttrPageableMemoryAccess:
      case cudaDevAttrConcurrentManagedAccess:
        *value = 0;
        break;
      default:  // most say whether the device can do something
        *value = 1;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call_unsafe("cudaDeviceSynchronize", [] {
    const int device = this_thread().device;
    const cudaError_t refused = State::get().captures.check_device(device);  // whatever the mode of the thread
    return refused == cudaSuccess ? wait_for_device(device) : refused;
  });
}
