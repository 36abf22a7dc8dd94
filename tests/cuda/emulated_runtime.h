// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#if CUDART_VERSION < 12080
// Which the emulation has with every toolkit, though the library must not use it with this one.
extern "C" cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
#endif

/// A CUDA runtime without a device: the functions of <cuda_runtime_api.h> that the library and its
/// tests use, and those of the driver that it asks for, with plain memory for the device's and a
/// thread for each stream. A program that links `dovetail_emulated_cuda` runs the library's own
/// CUDA code, also under sanitizers, where there is no GPU.
///
/// What is asynchronous with CUDA is so here: a copy reads its source when its turn in the stream
/// has come, and destroying a stream does not wait for its work. Calls on different streams order
/// nothing between their threads, so that the thread sanitizer sees what the caller forgot to
/// order. Stricter than CUDA: kinds of copies have to fit their pointers, handles are never used
/// again, fresh memory of a device is filled with 0xCD, and calls from host functions always fail.
/// Simpler: streams never wait for the default stream of their device, nor it for them.
///
/// `cudaStreamPerThread` is a stream of its own for each thread and device, made when it is first
/// used. It is destroyed with its thread, without waiting for its work, or by `reset`.
///
/// Threads: all functions may be called from any thread, but `reset` alone.
namespace dovetail::test::emulated_cuda {

namespace detail {
class Stream;
}

/// Everything as at the start: one device, no errors, no delay, all counts 0; drops what streams
/// have still to do. Throws `std::logic_error` with the `leftovers()`, after it has done all that.
void reset();

/// What has not been destroyed, freed or unregistered, such as "1 stream, 2 events"; "" if there is
/// nothing. Destroyed and default streams, and those of threads, count while they have work,
/// captures until they end. A broken context leaves nothing, because nothing can be freed with it.
std::string leftovers();

/// 0 to 16; 1 at first.
void set_device_count(int count);

/// `cudaStreamGetDevice` needs 12080; at first it is that of the toolkit, but no less.
void set_driver_version(int version);

/// Lets the next call of a function fail, once, before it does anything. Throws for a function that
/// is not emulated.
void fail_next(const char* function, cudaError_t error);

/// As after a fault on the device: from now on every call returns the error, what waits returns it
/// at once, and no work begins any more, so that nothing is complete that is not by now. Returns
/// when no stream touches memory.
void break_context(cudaError_t error);
/// Whether it is, since the last `reset`.
bool context_broken();

/// Asynchronous copies take at least so long, once their turn has come, before they read the
/// source.
void set_copy_delay(std::chrono::microseconds delay);

/// From now until `end_capture` the stream is captured, as by `cudaStreamBeginCapture`. What it is
/// given is dropped, as it would only be in a graph, and an event that is recorded there cannot be
/// asked or waited for until it is recorded elsewhere. In global mode potentially unsafe calls of
/// all threads fail and invalidate the capture, in thread-local mode only those of this thread; not
/// while the calling thread's own mode is relaxed. Unsafe are calls that query or synchronize, that
/// allocate, free, register or unregister memory, and `cudaMemcpy`. In every mode it is invalidated
/// when its stream, its device or one of its events is queried or synchronized. It ends with its
/// stream.
///
/// Stricter than CUDA: a thread's own mode helps against captures of other threads only if it is
/// relaxed, and in global mode the default streams of all devices say that they are out of use,
/// whatever stream is captured. Simpler: work on default streams is done nevertheless; a stream
/// that is told to wait for an event of a capture does not join it, but fails; the captured stream
/// may wait for the events of all others; and an invalid capture forbids nothing any more.
///
/// Throws for a default stream, for one that is not there, and for one that is captured already.
void begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal);

/// Whether the graph is valid; false if something invalidated the capture. Any thread may end it.
/// Throws for a stream that is not captured.
bool end_capture(cudaStream_t stream);

/// The devices on which a context has come into being, in order. As since CUDA 12 `cudaSetDevice`
/// gives a device its context, and so does every call for the device that is current on its thread,
/// but those that only ask for devices, their properties, errors and versions, and
/// `cudaThreadExchangeStreamCaptureMode`. Calls that `fail_next` lets fail do nothing.
std::vector<int> contexts();

/// How often a function was called since the last `reset`, failures as well. Throws for one that is
/// not emulated.
std::uint64_t calls(const char* function);

/// Holds streams at the place where it was put, until it is opened.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  /// Opens it, so that a test that ends early does not hang.
  ~Gate() { open(); }

  /// Work behind all that the stream has by now. Throws for a stream that takes no work.
  void block(cudaStream_t stream);
  void open();

 private:
  const std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex_;
  std::vector<std::shared_ptr<detail::Stream>> blocked_;
};

}  // namespace dovetail::test::emulated_cuda
