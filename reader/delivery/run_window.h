// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dovetail/order.h>

#include "reader/delivery/extent.h"
#include "reader/delivery/shard_table.h"
#include "reader/delivery/step.h"

namespace dovetail::detail {

/// A run on its way: where its records are, and how many of them are still to be planned.
///
/// The first members are all that planning a row needs as long as its block is the one of the row before, in one line of
/// the cache; records of a run come nearly in order.
struct alignas(64) RunEntry {
  const LoadedBlock* block = nullptr;  ///< That was used last; null where it is not in memory, by plan.
  std::uint64_t block_first = 0;       ///< Its first record, counted from the run's; may lie before the run.
  std::uint64_t block_records = 0;
  Extent* extent = nullptr;    ///< That it belongs to.
  std::uint64_t first_id = 0;  ///< Of the run.
  std::uint64_t unplanned = 0;
  RowStatus status = RowStatus::first;  ///< Of its rows.
  bool resolved = false;
  bool listed = false;  ///< As coming.

  Run run;
  std::shared_ptr<const ShardFile> file;  ///< Null after resolving where the shard could not be opened.
  RunBlocks blocks;
  const PartialRun* partial = nullptr;  ///< Which records come, where not all do.

  /// Turns to the block of a record of the run, in memory or not. Needs: the file.
  void turn_to(std::uint64_t record) noexcept;
};

/// The live runs of one stretch. Runs are opened in the order of their numbers and few are live at a time, so a window
/// over the numbers finds them without hashing.
///
/// Threads: none; belongs to the planner.
class RunWindow {
 public:
  RunWindow(Stretch stretch, const ExtentRules& rules);

  const Stretch& stretch() const noexcept { return stretch_; }
  bool holds(std::uint64_t run) const noexcept { return run >= first_run_ && run < end_run_; }

  /// Opens the shards of needed runs before number `until`, while not too many are open.
  void look_ahead(std::uint64_t until, ShardTable& shards);
  /// The run of a pick that has no row yet.
  RunEntry& entry(std::uint64_t number) {
    if (number - base_ >= size_) extend_to(number);
    return *ring_[number & (ring_.size() - 1)];
  }
  /// Whether the run knows its extents or its failure; asks for its shard otherwise.
  bool resolve(RunEntry& entry, ShardTable& shards);
  /// Gives up a run that is planned to its end.
  std::unique_ptr<RunEntry> take(std::uint64_t number);
  /// Gives up all runs that are left.
  void take_all(std::vector<std::unique_ptr<RunEntry>>& out);
  /// Forgets leading runs that were given up; whether none is left to come.
  bool ended();

 private:
  void extend_to(std::uint64_t number);
  std::unique_ptr<RunEntry> make_entry(std::uint64_t number) const;

  Stretch stretch_;
  Stretch::Needs needs_;
  ExtentRules rules_;
  std::uint64_t first_run_;
  std::uint64_t end_run_;
  std::uint64_t end_ = 0;           // no run from here on is needed
  std::uint64_t looked_ahead_ = 0;  // runs before this number have been asked for
  std::uint64_t base_ = 0;          // number of the first run in the window
  std::uint64_t size_ = 0;
  std::vector<std::unique_ptr<RunEntry>> ring_;  // a power of two; null where a run was given up
};

}  // namespace dovetail::detail
