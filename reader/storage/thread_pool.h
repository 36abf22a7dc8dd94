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

/// Threads for jobs that take a while or block. One thread starts at once; another starts when a job is posted while all
/// are busy; a thread that finds nothing to do for a second ends, unless it is the last. All have the cores and the signal
/// mask of the thread that made the pool, whichever thread posts.
///
/// Asio's own pool does not grow, and waits for ever where the system has no thread or no memory for the second of its
/// threads (1.26: its constructor joins the first, which nobody has told to end).
///
/// Threads: all functions from any thread, `join` from one at a time and from none of its own.
/// Errors:  the constructor throws `std::system_error` or `std::bad_alloc`, `post` `std::bad_alloc`. A further thread that
///          cannot start is done without.
class ThreadPool {
 public:
  /// Starts the first thread; `most` is at least 1. With `keeps` threads do not end before `join`.
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
  /// Allows one thread more: a job that hangs has taken one for good.
  void raise_limit();
  /// Threads now.
  unsigned size() const;
  /// Runs what is posted, and what that posts, to its end. Idempotent.
  void join();

 private:
  /// Counts a job from when it is posted until it is done or dropped.
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

  /// What threads inherit from the one that starts them.
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
  /// Whether the calling thread, which has found nothing to do, is to end.
  bool retire();

  const Inherited inherited_;
  const bool keeps_;
  // Before the context, whose end drops jobs.
  mutable std::mutex mutex_;
  unsigned most_;
  unsigned unfinished_ = 0;  // jobs
  bool joining_ = false;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_ = make_work_guard(context_);
  std::vector<std::thread> threads_;
  std::thread retired_;  // the last that has ended; it has joined the one before
};

}  // namespace dovetail::detail
