// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <signal.h>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace dovetail::detail {

/// Threads for jobs that take a while or block. One thread starts at once. Another starts when a
/// job is posted while all are busy. A thread that is idle for a second ends, unless it is the
/// last. All threads have the cores and the signal mask of the thread that made the pool, whichever
/// thread posts.
///
/// Asio's own pool does not grow. Its constructor also hangs if the system has no thread or memory
/// for the second of its threads: it joins the first thread, which nobody has stopped (1.26).
///
/// Threads: all functions may be called from any thread; `join` by one at a time, and by none of
///          the pool.
/// Errors:  the constructor throws `std::system_error` or `std::bad_alloc`, `post` throws
///          `std::bad_alloc`. The pool goes on if a further thread cannot start.
class ThreadPool {
 public:
  /// Starts the first thread; `most` is at least 1. With `keeps`, threads do not end before `join`.
  explicit ThreadPool(unsigned most, bool keeps = false);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// Joins.
  ~ThreadPool();

  /// Runs the job, which must not throw, on a thread of the pool.
  template <typename Job>
  void post(Job&& job) {
    Unfinished unfinished(*this);
    boost::asio::post(
        context_, [unfinished = std::move(unfinished), job = std::forward<Job>(job)]() mutable { std::move(job)(); });
    grow();
  }
  /// For timers.
  boost::asio::io_context::executor_type executor() noexcept { return context_.get_executor(); }
  /// Allows one more thread, in place of one that hangs in a job.
  void raise_limit();
  /// The number of threads now.
  unsigned size() const;
  /// Runs all posted jobs, and the jobs that they post, then ends the threads. Idempotent.
  void join();

 private:
  /// Counts a job from `post` until it is done or dropped.
  class Unfinished {
   public:
    explicit Unfinished(ThreadPool& pool) : pool_(&pool) { pool.count(1); }
    Unfinished(Unfinished&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    Unfinished& operator=(Unfinished&&) = delete;
    ~Unfinished() {
      if (pool_ != nullptr) pool_->count(-1);
    }

   private:
    ThreadPool* pool_;
  };

  /// What threads inherit from the thread that made the pool.
  struct Inherited {
    Inherited() noexcept;
    void apply() const noexcept;
    cpu_set_t cores;
    bool has_cores = false;
    sigset_t signals;
  };

  void count(int jobs) noexcept;
  void grow() noexcept;
  void run();
  /// Whether the calling thread, which is idle, must end. Removes it from `threads_` then.
  bool retire();

  const Inherited inherited_;
  const bool keeps_;
  // Declared before the context, whose destructor drops jobs.
  mutable std::mutex mutex_;
  unsigned most_;
  unsigned unfinished_ = 0;  // jobs
  bool joining_ = false;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_ = make_work_guard(context_);
  std::vector<std::thread> threads_;
  std::thread retired_;  // the last thread that ended; it has joined the one before it
};

}  // namespace dovetail::detail
