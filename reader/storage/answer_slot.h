// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <dovetail/error.h>

namespace dovetail::detail {

/// One answer, which one thread sets and another waits for. Unlike `std::promise`, it needs no
/// memory when it is dropped without an answer; `std::promise` ends the process if that memory is
/// missing.
///
/// Threads: `set` on one, `wait` on another.
class AnswerSlot {
 public:
  void set(Result<void> answer) noexcept {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    there_.notify_one();  // under the lock, because the waiting thread may destroy this object next
  }
  /// Waits at most `time`. Returns whether the answer is there.
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
