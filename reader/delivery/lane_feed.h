// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/delivery/run_window.h"

namespace dovetail::detail {

/// The picks of one lane, and the runs that they come from.
///
/// Threads: none; belongs to the planner.
class LaneFeed {
 public:
  LaneFeed(const LaneOrder& order, std::uint64_t first_output, std::uint32_t open_ahead, const ExtentRules& rules);

  /// Computes the next picks, and opens the shards of the runs that come after them; where
  /// these lie, as far as it is known, goes to `coming`, if that is given. What the last call gave must have been used up.
  void fetch(std::size_t count, ShardTable& shards, std::vector<Coming>* coming);
  /// What `fetch` gave, from the first pick that has no row on.
  std::span<const Pick> picks() const noexcept { return std::span(picks_).subspan(next_); }
  void advance(std::size_t picks) noexcept { next_ += picks; }
  /// Where a planned pick's run is.
  RunWindow& window_of(const Pick& pick) {
    if (recent_ == nullptr || !recent_->holds(pick.run)) recent_ = &find_window(pick);
    return *recent_;
  }
  /// Gives up runs that are planned to their end.
  void take_planned(std::span<const std::uint64_t> runs, std::vector<std::unique_ptr<RunEntry>>& out);
  /// Gives up all runs that are left, at the end of the epoch.
  void take_all(std::vector<std::unique_ptr<RunEntry>>& out);

 private:
  RunWindow& find_window(const Pick& pick);

  LaneCursor cursor_;
  std::uint32_t open_ahead_;
  ExtentRules rules_;
  std::vector<Pick> picks_;
  std::size_t next_ = 0;
  std::uint64_t next_stretch_ = 0;              // stretches whose runs begin before this number have a window
  std::map<std::uint64_t, RunWindow> windows_;  // by the first run of the stretch
  RunWindow* recent_ = nullptr;
};

}  // namespace dovetail::detail
