// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/delivery/extent.h"
#include "reader/delivery/shard_table.h"
#include "reader/delivery/step.h"

namespace dovetail::detail {

/// A run on its way: which extents hold its records, and how many of them are still to be planned.
struct RunEntry {
  Run run;
  std::uint64_t unplanned = 0;
  std::vector<std::uint64_t> live;  ///< Records still to come, where reading began inside the run; else empty.
  bool resolved = false;
  std::uint64_t first_block = 0;
  std::uint64_t end_block = 0;
  std::shared_ptr<const ShardFile> file;         ///< Null after resolving where the shard could not be opened.
  std::vector<std::shared_ptr<Extent>> extents;  ///< In the order of their blocks.
  std::vector<std::uint32_t> extent_of_block;    ///< By block, from `first_block`.
};

/// Turns the picks of one lane into rows, and knows which runs come next.
///
/// Runs are opened in the order of their numbers and few are live at a time, so a window over the numbers finds them
/// without hashing.
/// Threads: none; belongs to the reader's strand.
class LaneFeed {
 public:
  LaneFeed(LaneOrder order, std::uint64_t first_output, std::uint32_t open_ahead, bool wraps,
           std::uint64_t extent_bytes);

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
  RunEntry& entry(std::uint64_t position);
  void resolve_entry(RunEntry& entry, std::shared_ptr<const ShardFile> file);

  LaneOrder order_;
  LaneCursor cursor_;
  std::uint64_t runs_ = 0;
  std::uint64_t looked_ahead_ = 0;  // runs before this number have been asked for
  std::uint32_t open_ahead_;
  bool wraps_;
  std::uint64_t extent_bytes_;
  std::uint64_t base_ = 0;  // number of the first run in the window
  std::deque<RunEntry> window_;
};

}  // namespace dovetail::detail
