// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace dovetail::detail {

/// A mutex that is held for well under a microsecond at a time: who finds it taken tries again for a moment before it
/// sleeps, because a sleep and a wake-up cost many times as much.
class BriefMutex {
 public:
  void lock() {
    for (int turn = 0; turn < kTurns; ++turn) {
      if (mutex_.try_lock()) return;
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kTurns = 200;  // some microseconds
  std::mutex mutex_;
};

}  // namespace dovetail::detail
