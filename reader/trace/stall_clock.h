// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dovetail::detail {

/// The state of a reader: the cause of a wait, or `filling` if no request and no batch waits.
enum class Stall : std::uint8_t { storage, decode, transform, slot, consumer, filling };

/// Adds up how long a reader has been in each state. Threads: none; its owner locks.
class StallClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StallClock(Clock::time_point now) : since_(now) {}

  void enter(Stall stall, Clock::time_point now) noexcept {
    spent_[index(state_)] += now - since_;
    since_ = now;
    state_ = stall;
  }
  Stall state() const noexcept { return state_; }
  /// When the present state began.
  Clock::time_point since() const noexcept { return since_; }
  std::chrono::nanoseconds spent(Stall stall, Clock::time_point now) const noexcept {
    return spent_[index(stall)] + (stall == state_ ? now - since_ : Clock::duration{});
  }

 private:
  static constexpr std::size_t index(Stall stall) noexcept { return static_cast<std::size_t>(stall); }
  std::array<Clock::duration, 6> spent_{};
  Clock::time_point since_;
  Stall state_ = Stall::filling;
};

}  // namespace dovetail::detail
