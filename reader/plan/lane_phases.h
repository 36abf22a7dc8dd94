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

/// The lanes of an epoch through its changes of world. The *base lanes* are those that the epoch began with; after each
/// change the rests of the lanes are laid end to end and cut anew, so that every later lane is a list of ranges of base
/// lanes, which is computed and not stored. docs/order.md, "Changes of world".
///
/// Threads: const calls may run concurrently.
class LanePhases {
 public:
  explicit LanePhases(LaneLengths base) { levels_.push_back({std::move(base), {}}); }

  /// After every lane of the present phase has given `taken` outputs, or all that it has, `lanes` share the rest.
  void change(std::uint64_t taken, std::uint32_t lanes);

  /// Of the present phase.
  const LaneLengths& lengths() const noexcept { return levels_.back().lengths; }
  const LaneLengths& base() const noexcept { return levels_.front().lengths; }
  bool changed() const noexcept { return levels_.size() > 1; }
  /// The base lane's outputs at a place of the present lanes laid end to end, below `lengths().total()`: as many as
  /// follow each other in both. Cost: a binary search over the lanes for each phase.
  BaseRange locate(std::uint64_t position) const noexcept;

 private:
  struct Level {
    LaneLengths lengths;
    LaneLengths rest = LaneLengths::even(0, 1);  // of these lanes, where another level follows
  };
  std::vector<Level> levels_;
};

/// Steps of a phase that is not the epoch's first: 0 where nothing is left, or under `drop` too little.
std::uint64_t steps_of_rest(const LaneLengths& lengths, std::uint64_t rows_per_lane, Tail tail) noexcept;

}  // namespace dovetail::detail
