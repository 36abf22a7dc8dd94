// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "format/guard_memory.h"

namespace dovetail::detail {
namespace {

class Pass {
 public:
  Pass(std::size_t count, const std::function<Result<void>(std::size_t)>& work) : count_(count), work_(work) {}

  void run() {
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count_) return;
      try {
        auto done = guard_memory({}, [&] { return work_(index); });
        if (!done) keep_lowest(index, done.error());
      } catch (...) {
        const std::lock_guard lock(mutex_);
        thrown_ = std::current_exception();
        failed_.store(true, std::memory_order_relaxed);
      }
    }
  }

  Result<void> outcome() const {
    if (thrown_) std::rethrow_exception(thrown_);
    if (error_) return *error_;
    return {};
  }

 private:
  void keep_lowest(std::size_t index, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || index < failed_index_) {
      error_ = error;
      failed_index_ = index;
    }
    failed_.store(true, std::memory_order_relaxed);
  }

  const std::size_t count_;
  const std::function<Result<void>(std::size_t)>& work_;
  // Both are relaxed: each index is given out once in any order, and joining the threads makes
  // their results visible.
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
  std::exception_ptr thrown_;
  std::size_t failed_index_ = 0;
};

}  // namespace

Result<void> for_each_index(std::size_t count, unsigned threads, const std::function<Result<void>(std::size_t)>& work) {
  Pass pass(count, work);
  const std::size_t helpers = std::min<std::size_t>(std::max(threads, 1u), std::max<std::size_t>(count, 1)) - 1;
  {
    std::vector<std::jthread> pool;
    pool.reserve(helpers);
    try {
      while (pool.size() < helpers) pool.emplace_back([&pass] { pass.run(); });
    } catch (const std::system_error&) {
      // Fewer threads do the same work.
    }
    pass.run();
  }
  return pass.outcome();
}

}  // namespace dovetail::detail
