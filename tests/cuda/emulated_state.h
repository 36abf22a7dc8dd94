// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda/emulated_captures.h"
#include "tests/cuda/emulated_stream.h"

namespace dovetail::test::emulated_cuda::detail {

inline constexpr int kMostDevices = 16;
inline constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

/// One that has all that is emulated.
inline constexpr int kDriverAtFirst = std::max(CUDART_VERSION, 12080);

/// The functions that count calls and can be made to fail.
inline constexpr auto kFunctions = std::to_array<std::string_view>({
    "cuCtxGetDevice",
    "cuCtxPopCurrent",
    "cuCtxPushCurrent",
    "cuStreamGetCtx",
    "cudaDeviceGetAttribute",
    "cudaDeviceGetPCIBusId",
    "cudaDeviceSynchronize",
    "cudaDriverGetVersion",
    "cudaEventCreateWithFlags",
    "cudaEventDestroy",
    "cudaEventQuery",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaFree",
    "cudaFreeHost",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGetDriverEntryPoint",
    "cudaGetLastError",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaLaunchHostFunc",
    "cudaMalloc",
    "cudaMallocHost",
    "cudaMemGetInfo",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaPeekAtLastError",
    "cudaPointerGetAttributes",
    "cudaRuntimeGetVersion",
    "cudaSetDevice",
    "cudaStreamCreateWithFlags",
    "cudaStreamDestroy",
    "cudaStreamGetDevice",
    "cudaStreamIsCapturing",
    "cudaStreamQuery",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "cudaThreadExchangeStreamCaptureMode",
});

constexpr std::size_t index_of(std::string_view name) {
  const auto found = std::find(kFunctions.begin(), kFunctions.end(), name);
  if (found == kFunctions.end()) throw std::invalid_argument("this function of CUDA is not emulated");
  return static_cast<std::size_t>(found - kFunctions.begin());
}

/// One of `kFunctions`; another name does not compile.
struct Function {
  consteval Function(const char* name) : index(index_of(name)) {}
  std::size_t index;
};

/// Memory that CUDA knows.
struct Range {
  enum class Kind { registered, host_allocated, device };
  Kind kind;
  std::size_t bytes;
  int device;
};

/// A moment in a stream or in a capture, which has a place in a graph instead; neither where it was
/// never recorded.
struct Moment {
  std::shared_ptr<Stream> stream = nullptr;
  std::uint64_t number = 0;
  std::shared_ptr<Capture> capture = nullptr;
};

class Event {
 public:
  explicit Event(int device) : device_(device) {}
  int device() const noexcept { return device_; }
  Moment moment() const {
    const std::lock_guard lock(mutex_);
    return moment_;
  }
  void record(Moment moment) {
    const std::lock_guard lock(mutex_);
    moment_ = std::move(moment);
  }

 private:
  const int device_;
  mutable std::mutex mutex_;
  Moment moment_;
};

/// What a thread has of its own; starts afresh with each `reset`.
struct ThreadState {
  std::uint64_t resets = 0;
  int device = 0;               ///< Whose context is current.
  std::vector<int> below = {};  ///< Those of the contexts below it on the driver's stack.
  cudaError_t last_error = cudaSuccess;
  bool in_host_function = false;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};
ThreadState& this_thread();

/// The one runtime. Calls only share the lock of the tables, so that they order nothing between
/// their threads.
class State {
 public:
  static State& get();

  /// Of a stream that is there; a default stream belongs to the device that is current, and a
  /// thread's to that thread as well, for which it is made here.
  std::shared_ptr<Stream> stream(cudaStream_t handle);
  std::shared_ptr<Event> event(cudaEvent_t handle) const;
  cudaStream_t add_stream(int device);
  cudaEvent_t add_event(int device);
  bool remove_stream(cudaStream_t handle);
  bool remove_event(cudaEvent_t handle);
  /// Destroys the streams that a thread has of its own.
  void end_thread(std::thread::id thread);
  /// With default ones, those of threads and destroyed ones.
  std::vector<std::shared_ptr<Stream>> all_streams() const;

  /// False, and nothing is added, where it overlaps another range.
  bool add_range(const void* begin, Range range);
  /// Removes the range that begins here, if it is of this kind.
  std::optional<Range> remove_range(const void* begin, Range::Kind kind);
  std::optional<Range> range_beginning(const void* begin) const;
  struct Place {
    bool whole;                  ///< All bytes are in the range, or none are in any.
    std::optional<Range> range;  ///< That the first byte is in.
  };
  Place place_of(const void* begin, std::size_t bytes) const;
  /// Of this kind on this device.
  std::size_t bytes_of(Range::Kind kind, int device) const;

  /// Gives a device its context, if it has none.
  void make_context(int device) { contexts_.fetch_or(1u << device, std::memory_order_relaxed); }
  std::vector<int> contexts() const;

  std::string leftovers() const;
  /// Everything as at the start.
  void clear();

  Captures captures;
  std::atomic<int> device_count{1};
  std::atomic<int> driver_version{kDriverAtFirst};
  std::atomic<cudaError_t> broken{cudaSuccess};
  std::atomic<std::chrono::microseconds> copy_delay{};
  std::atomic<std::uint64_t> resets{0};
  std::array<std::atomic<std::uint64_t>, kFunctions.size()> calls{};
  std::array<std::atomic<cudaError_t>, kFunctions.size()> failures{};

 private:
  State();
  void make_default_streams();
  std::shared_ptr<Stream> stream_of_thread();
  /// Needs the lock of the tables.
  void destroy(std::shared_ptr<Stream> stream);
  /// Joins the threads of destroyed streams that have done all their work.
  void reap();

  std::atomic<unsigned> contexts_{0};  // a bit for each device
  mutable std::shared_mutex mutex_;
  std::uintptr_t handles_ = 0x1000;  // beyond the numbers that stand for default streams
  std::vector<std::shared_ptr<Stream>> default_streams_;
  std::map<std::pair<std::thread::id, int>, std::shared_ptr<Stream>> streams_of_threads_;  // and of devices
  std::vector<std::shared_ptr<Stream>> destroyed_streams_;
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events_;
  std::map<std::uintptr_t, Range> ranges_;
};

/// Memory for a range, and back; null where there is none.
void* allocate(std::size_t bytes, Range::Kind kind) noexcept;
void release(void* begin, Range::Kind kind) noexcept;

/// Waits for all work of a device.
cudaError_t wait_for_device(int device);

/// What a call begins with: counts it, and says why it fails right away.
cudaError_t begin(Function function);
/// What a call ends with: remembers an error for `cudaGetLastError`.
cudaError_t end(cudaError_t status);

/// A call that needs no device.
template <class Body>
cudaError_t call_without_device(Function function, const Body& body) {
  const cudaError_t failure = begin(function);
  return end(failure == cudaSuccess ? body() : failure);
}

/// A call that gives no device its context.
template <class Body>
cudaError_t call_without_context(Function function, const Body& body) {
  return call_without_device(function, [&] { return State::get().device_count == 0 ? cudaErrorNoDevice : body(); });
}

template <class Body>
cudaError_t call(Function function, const Body& body) {
  return call_without_context(function, [&] {
    State::get().make_context(this_thread().device);
    return body();
  });
}

/// A call that is potentially unsafe while streams capture: none of them sees it.
template <class Body>
cudaError_t call_unsafe(Function function, const Body& body) {
  return call(function, [&] {
    const cudaError_t refused = State::get().captures.check_unsafe_call(this_thread().capture_mode);
    return refused == cudaSuccess ? body() : refused;
  });
}

}  // namespace dovetail::test::emulated_cuda::detail
