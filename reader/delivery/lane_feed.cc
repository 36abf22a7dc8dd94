// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/lane_feed.h"

#include <iterator>
#include <utility>

namespace dovetail::detail {

LaneFeed::LaneFeed(const LaneOrder& order, std::uint64_t first_output, std::uint32_t open_ahead,
                   const ExtentRules& rules)
    : cursor_(order.cursor(first_output)), open_ahead_(open_ahead), rules_(rules) {}

void LaneFeed::fetch(std::size_t count, ShardTable& shards, std::vector<Coming>* coming) {
  for (auto window = windows_.begin(); window != windows_.end();) {
    window = window->second.ended() ? windows_.erase(window) : std::next(window);
  }
  recent_ = nullptr;
  picks_.resize(count);
  next_ = 0;
  cursor_.next(picks_);
  for (const LaneCursor::Active& active : cursor_.active()) {
    const std::uint64_t first_run = active.stretch.first_run();
    if (first_run >= next_stretch_) {
      next_stretch_ = active.stretch.end_run();
      windows_.try_emplace(first_run, active.stretch, rules_);
    }
    // A stretch that is planned to its end has no window any more.
    const auto window = windows_.find(first_run);
    if (window != windows_.end()) window->second.look_ahead(active.next_run + open_ahead_, shards, coming);
  }
}

RunWindow& LaneFeed::find_window(const Pick& pick) {
  return std::prev(windows_.upper_bound(pick.run))->second;
}

void LaneFeed::take_planned(std::span<const std::uint64_t> runs, std::vector<std::unique_ptr<RunEntry>>& out) {
  for (const std::uint64_t run : runs) {
    out.emplace_back();
    out.back() = window_of(Pick{.run = run}).take(run);
  }
}

void LaneFeed::take_all(std::vector<std::unique_ptr<RunEntry>>& out) {
  for (auto& [first_run, window] : windows_) window.take_all(out);
  windows_.clear();
  recent_ = nullptr;
}

}  // namespace dovetail::detail
