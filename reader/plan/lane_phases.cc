// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/lane_phases.h"

#include <algorithm>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

void LanePhases::change(std::uint64_t taken, std::uint32_t lanes) {
  levels_.back().rest = levels_.back().lengths.after(taken);
  const std::uint64_t left = levels_.back().rest.total();
  levels_.push_back({LaneLengths::even(left, lanes)});
}

BaseRange LanePhases::locate(std::uint64_t position) const noexcept {
  std::uint64_t count = lengths().total() - position;
  for (std::size_t level = levels_.size() - 1; level > 0; --level) {
    const LaneLengths& lengths = levels_[level - 1].lengths;
    const LaneLengths& rest = levels_[level - 1].rest;
    const std::uint32_t lane = rest.lane_of(position);
    count = std::min(count, rest.begin(std::uint64_t{lane} + 1) - position);
    // The rest of a lane is its tail, so distances from the lane's end are the same in both.
    position = lengths.begin(std::uint64_t{lane} + 1) - (rest.begin(std::uint64_t{lane} + 1) - position);
  }
  const LaneLengths& base = this->base();
  const std::uint32_t lane = base.lane_of(position);
  return {lane, position - base.begin(lane), std::min(count, base.begin(std::uint64_t{lane} + 1) - position)};
}

std::uint64_t steps_of_rest(const LaneLengths& lengths, std::uint64_t rows_per_lane, Tail tail) noexcept {
  return tail == Tail::drop ? lengths.fewest() / rows_per_lane : divide_up(lengths.most(), rows_per_lane);
}

}  // namespace dovetail::detail
