// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/lane_feed.h"

#include <iterator>

namespace dovetail::detail {

LaneFeed::LaneFeed(const LaneOrder& order, std::uint64_t first_output, std::uint32_t open_ahead,
                   std::uint64_t extent_bytes)
    : cursor_(order.cursor(first_output)), open_ahead_(open_ahead), extent_bytes_(extent_bytes) {}

void LaneFeed::next(std::span<Pick> out) {
  cursor_.next(out);
}

void LaneFeed::look_ahead(ShardTable& shards) {
  for (const LaneCursor::Active& active : cursor_.active()) {
    const std::uint64_t first_run = active.stretch.first_run();
    if (first_run >= next_stretch_) {
      next_stretch_ = active.stretch.end_run();
      windows_.try_emplace(first_run, active.stretch, extent_bytes_);
    }
    // A stretch that is planned to its end has no window any more.
    const auto window = windows_.find(first_run);
    if (window != windows_.end()) window->second.look_ahead(active.next_run + open_ahead_, shards);
  }
}

RunWindow& LaneFeed::window_of(const Pick& pick) {
  return std::prev(windows_.upper_bound(pick.run))->second;
}

bool LaneFeed::resolve(const Pick& pick, ShardTable& shards) {
  return !pick.planned() || window_of(pick).resolve(pick, shards);
}

PlannedRow LaneFeed::plan_row(const Pick& pick) {
  return pick.planned() ? window_of(pick).plan_row(pick) : PlannedRow{};
}

void LaneFeed::forget_used_up() {
  for (auto window = windows_.begin(); window != windows_.end();) {
    window = window->second.forget_used_up() ? windows_.erase(window) : std::next(window);
  }
}

void LaneFeed::for_each_extent(const std::function<void(Extent&)>& visit) {
  for (auto& [first_run, window] : windows_) window.for_each_extent(visit);
}

}  // namespace dovetail::detail
