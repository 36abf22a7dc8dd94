// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace dovetail::detail {

/// Threads that run what is posted to their executor.
///
/// Asio's own pool waits for ever where the system has no thread or no memory for the second of its threads (1.26: its
/// constructor joins the first, which nobody has told to end).
/// Threads: `executor` and `attach` from any thread, the others from one at a time.
/// Errors:  the constructor throws `std::system_error` or `std::bad_alloc`, with no thread left.
class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// Joins.
  ~ThreadPool();

  boost::asio::io_context::executor_type executor() noexcept { return context_.get_executor(); }
  /// Works on the calling thread as well, until the pool is joined.
  void attach() { context_.run(); }
  /// Runs what is posted, and what that posts, to its end. Idempotent.
  void join();

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_ = make_work_guard(context_);
  std::vector<std::thread> threads_;
};

}  // namespace dovetail::detail
