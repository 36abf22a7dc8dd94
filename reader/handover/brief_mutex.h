// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace dovetail::detail {

/// A mutex that is mostly held for well under a microsecond. A thread that finds it taken retries
/// for some microseconds, then sleeps briefly between tries, because its holder is slow or
/// suspended.
///
/// A reader takes the mutex once per batch, which may be as small as 4 KB. The mutex keeps no queue
/// of sleeping threads, so it costs half of a `std::mutex`.
class BriefMutex {
 public:
  void lock() noexcept {
    while (!try_lock()) {
      for (int turn = 0; turn < kTurns && taken_.load(std::memory_order_relaxed); ++turn) continue;
      if (taken_.load(std::memory_order_relaxed)) std::this_thread::sleep_for(kPause);
    }
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  static constexpr int kTurns = 2000;  // some microseconds
  static constexpr std::chrono::microseconds kPause{20};
  std::atomic<bool> taken_ = false;
};

}  // namespace dovetail::detail
