// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include <dovetail/order.h>

#include "reader/delivery/run_window.h"

namespace dovetail::detail {

/// Turns the picks of one lane into rows, and knows which runs come next.
///
/// Threads: none; belongs to the reader's strand.
class LaneFeed {
 public:
  LaneFeed(const LaneOrder& order, std::uint64_t first_output, std::uint32_t open_ahead, std::uint64_t extent_bytes);

  /// Picks of the next step; a pick stays valid until `plan_row` has used it up.
  void next(std::span<Pick> out);
  /// Opens the shards of the runs that come next.
  void look_ahead(ShardTable& shards);
  /// Whether the pick's run knows its extents or its failure; asks for its shard otherwise.
  bool resolve(const Pick& pick, ShardTable& shards);
  /// The row of a resolved pick. Each pick is planned once.
  PlannedRow plan_row(const Pick& pick);
  /// Forgets the runs that are planned to their end. Whoever planned rows must own their extents by then.
  void forget_used_up();
  /// Calls `visit` for every extent that is still known here.
  void for_each_extent(const std::function<void(Extent&)>& visit);

 private:
  RunWindow& window_of(const Pick& pick);

  LaneCursor cursor_;
  std::uint32_t open_ahead_;
  std::uint64_t extent_bytes_;
  std::uint64_t next_stretch_ = 0;              // stretches whose runs begin before this number have a window
  std::map<std::uint64_t, RunWindow> windows_;  // by the first run of the stretch
};

}  // namespace dovetail::detail
