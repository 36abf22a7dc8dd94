// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <dovetail/order.h>

#include "reader/delivery/extent.h"
#include "reader/delivery/shard_table.h"
#include "reader/delivery/step.h"

namespace dovetail::detail {

/// A run on its way: which extents hold its records, and how many of them are still to be planned.
struct RunEntry {
  Run run;
  const PartialRun* partial = nullptr;  ///< Which records come, where not all do.
  std::uint64_t unplanned = 0;
  bool resolved = false;
  std::uint64_t first_block = 0;
  std::uint64_t end_block = 0;
  std::shared_ptr<const ShardFile> file;         ///< Null after resolving where the shard could not be opened.
  std::vector<std::shared_ptr<Extent>> extents;  ///< In the order of their blocks.
  std::vector<std::uint32_t> extent_of_block;    ///< By block, from `first_block`.
};

/// The live runs of one stretch. Runs are opened in the order of their numbers and few are live at a time, so a window
/// over the numbers finds them without hashing.
///
/// Threads: none; belongs to the reader's strand.
class RunWindow {
 public:
  RunWindow(Stretch stretch, std::uint64_t extent_bytes);

  const Stretch& stretch() const noexcept { return stretch_; }

  /// Opens the shards of needed runs before number `until`, while not too many are open.
  void look_ahead(std::uint64_t until, ShardTable& shards);
  /// Whether the pick's run knows its extents or its failure; asks for its shard otherwise.
  bool resolve(const Pick& pick, ShardTable& shards);
  /// The row of a resolved pick. Each pick is planned once.
  PlannedRow plan_row(const Pick& pick);
  /// Forgets the runs that are planned to their end; whether none is left to come.
  bool forget_used_up();
  /// Calls `visit` for every extent that is still known here.
  void for_each_extent(const std::function<void(Extent&)>& visit);

 private:
  RunEntry& entry(std::uint64_t number);
  void resolve_entry(RunEntry& entry, std::shared_ptr<const ShardFile> file);

  Stretch stretch_;
  Stretch::Needs needs_;
  std::uint64_t extent_bytes_;
  std::uint64_t end_ = 0;           // no run from here on is needed
  std::uint64_t looked_ahead_ = 0;  // runs before this number have been asked for
  std::uint64_t base_ = 0;          // number of the first run in the window
  std::deque<RunEntry> window_;
  std::vector<std::uint64_t> used_up_;  // planned to their end since `forget_used_up`
};

}  // namespace dovetail::detail
