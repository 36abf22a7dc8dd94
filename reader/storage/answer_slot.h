// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <dovetail/error.h>

namespace dovetail::detail {

/// An answer of one thread that another one waits for. A `std::promise` that is dropped without one needs memory, and ends the
/// process where there is none.
///
/// Threads: `set` on one, `wait` on another.
class AnswerSlot {
 public:
  void set(Result<void> answer) noexcept {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    there_.notify_one();  // under the lock: who waits may destroy this next
  }
  /// Whether it has come in that time.
  bool wait_for(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return there_.wait_for(lock, time, [this] { return answer_.has_value(); });
  }
  Result<void> wait() {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [this] { return answer_.has_value(); });
    return *std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable there_;
  std::optional<Result<void>> answer_;
};

}  // namespace dovetail::detail
