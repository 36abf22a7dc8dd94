// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace dovetail::test::emulated_cuda::detail {

/// A queue of work with a thread that does it, begun with the first piece. Pieces are numbered from
/// 1, so a moment in a stream, which is all that an event stands for, is a number: the pieces up to
/// it have been done.
///
/// Threads: all functions may be called from any thread, `hold` and `hold_for` from the work
///          itself. Needs `close` and `join` before it is destroyed.
class Stream {
 public:
  using Work = std::function<void(Stream&)>;

  explicit Stream(int device) : device_(device) {}
  ~Stream();

  int device() const noexcept { return device_; }

  /// Puts work behind all work before; `number` gets its number.
  cudaError_t submit(Work work, std::uint64_t* number = nullptr);
  /// The number of the last piece there is.
  std::uint64_t last() const;
  /// Whether pieces up to this one have been done: `cudaErrorNotReady` while they have not, the
  /// reason once they never will.
  cudaError_t query(std::uint64_t number) const;
  cudaError_t wait(std::uint64_t number) const;
  bool idle() const;

  /// Keeps the stream where it is until a condition holds, which `wake` asks again, or for some
  /// time. False: the stream was abandoned, and the work should end without doing anything. After
  /// `hold_for` the work is not ordered behind calls that were made meanwhile, so that the thread
  /// sanitizer sees a source that is overwritten too early.
  bool hold(const std::function<bool()>& ready);
  bool hold_for(std::chrono::microseconds time);
  void wake();

  /// No further work; its thread ends once all has been done.
  void close();
  /// Drops the work that has not begun and takes no more: it fails for this reason.
  void abandon(cudaError_t why);
  /// Waits until no work is being done, except by the calling thread.
  void settle();
  /// Waits for the end of the thread, whoever else does. Needs `close`; not on a thread of a
  /// stream, of which two could wait for each other.
  void join();
  /// Whether the calling thread does the work of a stream, or has done it and ends.
  static bool on_a_stream() noexcept;

 private:
  void run();
  cudaError_t state_of(std::uint64_t number) const;

  const int device_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Work> queue_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  bool running_ = false;
  bool closed_ = false;
  cudaError_t abandoned_ = cudaSuccess;
  std::mutex delay_mutex_;
  std::condition_variable delay_ends_;
  bool delays_ = true;  ///< Until the stream is abandoned.
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace dovetail::test::emulated_cuda::detail
