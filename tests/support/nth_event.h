// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace dovetail::test {

/// The n-th of all events of a kind, at which something happens, once, on the thread that has it.
///
/// Threads: events of all threads count, and are ordered by it while it is armed only; one thread
///          arms and disarms.
class NthEvent {
 public:
  /// From now on events count. Needs: disarmed, and `settle` after that.
  void arm(std::uint64_t n) noexcept {
    place_ = n;
    events_ = 0;
    begun_ = false;
    armed_ = true;
  }
  bool armed() const noexcept { return armed_.load(std::memory_order_relaxed); }

  /// An event: runs `happen` if it is the one. Whether it was.
  template <class Happen>
  bool meet(const Happen& happen) {
    if (!armed()) return false;
    ++inside_;
    const bool met = armed_.load() && ++events_ == place_.load();
    if (met) {
      begun_ = true;
      happen();
    }
    --inside_;
    return met;
  }

  /// From now on nothing happens any more; whether it has begun to.
  bool disarm() noexcept {
    armed_ = false;
    // Whoever saw it armed has been through by the time that it leaves, or is at it.
    while (!begun_.load() && inside_.load() != 0) std::this_thread::yield();
    return begun_.load();
  }
  /// Waits for what happens to end. Needs: disarmed.
  void settle() const noexcept {
    while (inside_.load() != 0) std::this_thread::yield();
  }

 private:
  std::atomic<bool> armed_ = false;
  std::atomic<bool> begun_ = false;
  std::atomic<unsigned> inside_ = 0;
  std::atomic<std::uint64_t> place_ = 0;
  std::atomic<std::uint64_t> events_ = 0;
};

}  // namespace dovetail::test
