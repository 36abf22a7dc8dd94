// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace dovetail::python {

/// Warnings from the threads of a reader on their way to Python's `logging`. Those threads never take the interpreter
/// lock: it may be held by who waits for them.
class LogLines {
 public:
  void add(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() == kMost) lines_.pop_front();
    lines_.emplace_back(line);
    some_.store(true, std::memory_order_release);
  }

  bool some() const noexcept { return some_.load(std::memory_order_acquire); }

  std::deque<std::string> take() {
    const std::lock_guard lock(mutex_);
    some_.store(false, std::memory_order_release);
    return std::exchange(lines_, {});
  }

 private:
  static constexpr std::size_t kMost = 1000;
  std::mutex mutex_;
  std::deque<std::string> lines_;
  std::atomic<bool> some_ = false;
};

}  // namespace dovetail::python
