// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/plan.h>

#include "reader/plan/lane_lengths.h"

namespace dovetail::detail {

/// Consecutive outputs of a base lane.
struct BaseRange {
  std::uint32_t lane = 0;
  std::uint64_t output = 0;
  std::uint64_t count = 0;
};

/// The lanes of an epoch through its changes of world.
///
/// The *base lanes* are the lanes that the epoch began with. After each change the rests of the
/// lanes are laid end to end and cut anew. So each later lane is a list of ranges of base lanes.
/// These ranges are computed, not stored. docs/order.md, "Changes of world".
///
/// Threads: const calls may run concurrently.
class LanePhases {
 public:
  explicit LanePhases(LaneLengths base) { levels_.push_back({std::move(base), {}}); }

  /// Begins a phase of `lanes` lanes. They share what remains after every lane of the present phase
  /// has given `taken` outputs, or all of its outputs.
  void change(std::uint64_t taken, std::uint32_t lanes);

  /// The lengths in the present phase.
  const LaneLengths& lengths() const noexcept { return levels_.back().lengths; }
  const LaneLengths& base() const noexcept { return levels_.front().lengths; }
  bool changed() const noexcept { return levels_.size() > 1; }
  /// Maps `position` of the present lanes, laid end to end, to outputs of a base lane. The range
  /// extends as far as the outputs are consecutive in both. Needs: `position` is below
  /// `lengths().total()`. Cost: a binary search over the lanes for each phase.
  BaseRange locate(std::uint64_t position) const noexcept;

 private:
  struct Level {
    LaneLengths lengths;
    LaneLengths rest = LaneLengths::even(0, 1);  // what these lanes leave to the next level
  };
  std::vector<Level> levels_;
};

/// Steps of a phase that is not the first of its epoch. 0 if nothing is left, or with `drop` if
/// less than one step is left.
std::uint64_t steps_of_rest(const LaneLengths& lengths, std::uint64_t rows_per_lane, Tail tail) noexcept;

}  // namespace dovetail::detail
