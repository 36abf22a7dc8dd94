// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda/emulated_stream.h"

namespace dovetail::test::emulated_cuda::detail {

/// The time in which the work of a stream goes into a graph, which nobody keeps here.
///
/// Threads: all functions may be called from any thread.
class Capture {
 public:
  Capture(std::shared_ptr<Stream> stream, cudaStreamCaptureMode mode) : stream_(std::move(stream)), mode_(mode) {}

  const Stream* stream() const noexcept { return stream_.get(); }
  cudaStreamCaptureMode mode() const noexcept { return mode_; }
  /// What giving the stream work returns: the graph has it, but not once it is invalidated.
  cudaError_t take() const noexcept { return invalidated() ? cudaErrorStreamCaptureInvalidated : cudaSuccess; }
  bool invalidated() const noexcept { return invalidated_.load(std::memory_order_relaxed); }
  void invalidate() noexcept { invalidated_.store(true, std::memory_order_relaxed); }
  /// Whether a thread must not make potentially unsafe calls meanwhile, unless its own mode is
  /// relaxed.
  bool forbids_unsafe_calls(std::thread::id thread) const noexcept {
    if (invalidated()) return false;
    return mode_ == cudaStreamCaptureModeGlobal || (mode_ == cudaStreamCaptureModeThreadLocal && thread == thread_);
  }

 private:
  const std::shared_ptr<Stream> stream_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> invalidated_{false};
};

/// The captures that have not ended.
///
/// Threads: all functions may be called from any thread. Only `begin`, `end` and `clear`
///          take the lock alone; the others share it. So calls order nothing between their threads
///          where there is no capture.
class Captures {
 public:
  /// False, and nothing begins, for a stream that captures already.
  bool begin(std::shared_ptr<Stream> stream, cudaStreamCaptureMode mode);
  /// The one that has ended; null for a stream that did not capture.
  std::shared_ptr<Capture> end(const Stream& stream);
  std::shared_ptr<Capture> of(const Stream& stream) const;
  std::size_t count() const;
  /// Whether a stream captures in global mode, also one whose capture is invalid by now.
  bool any_global() const;
  /// For a potentially unsafe call of this thread, which invalidates the captures that forbid it.
  cudaError_t check_unsafe_call(cudaStreamCaptureMode mode_of_thread);
  /// For a call that asks for all work of a device, which invalidates the captures there.
  cudaError_t check_device(int device);
  void invalidate_all();
  void clear();

 private:
  template <class Condition>
  bool invalidate_where(const Condition& condition);

  mutable std::shared_mutex mutex_;
  std::vector<std::shared_ptr<Capture>> captures_;
};

}  // namespace dovetail::test::emulated_cuda::detail
