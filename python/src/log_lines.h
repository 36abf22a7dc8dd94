// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace dovetail::python {

struct LogLine {
  std::string text;
  bool warns = true;
};

/// Log messages of a reader on their way to Python's `logging`. The reader's threads never take the
/// interpreter lock, because its holder may wait for them.
class LogLines {
 public:
  void add(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() == kMost) lines_.pop_front();
    lines_.push_back({.text = std::string(line), .warns = std::this_thread::get_id() != opener_});
    some_.store(true, std::memory_order_release);
  }

  /// Marks the thread that opens the reader; a default id ends that. Messages of this thread are no
  /// warnings, because they only report options that are unavailable, and the statistics have them
  /// too. Threads that read ahead may warn meanwhile.
  void set_opener(std::thread::id opener) {
    const std::lock_guard lock(mutex_);
    opener_ = opener;
  }

  bool some() const noexcept { return some_.load(std::memory_order_acquire); }

  std::deque<LogLine> take() {
    const std::lock_guard lock(mutex_);
    some_.store(false, std::memory_order_release);
    return std::exchange(lines_, {});
  }

 private:
  static constexpr std::size_t kMost = 1000;
  std::mutex mutex_;
  std::deque<LogLine> lines_;
  std::thread::id opener_;
  std::atomic<bool> some_ = false;
};

}  // namespace dovetail::python
