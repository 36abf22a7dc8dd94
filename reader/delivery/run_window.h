// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dovetail/order.h>

#include "reader/delivery/extent.h"
#include "reader/delivery/step.h"
#include "reader/fetch/shard_table.h"

namespace dovetail::detail {

/// A range of a file that will be read.
struct Coming {
  std::shared_ptr<const ShardFile> file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// A run on its way: where its records are, and how many of them are still to be planned.
///
/// The first members are all that planning a row needs as long as its block is the one of the row before, in one line of
/// the cache; records of a run come nearly in order.
struct alignas(64) RunEntry {
  const LoadedBlock* block = nullptr;     ///< That was used last; null where it is not in memory, by plan.
  std::uint64_t block_first = 0;          ///< Its first record, counted from the run's; may lie before the run.
  std::uint32_t* destinations = nullptr;  ///< Of the block's records; null where none can be noted.
  std::uint64_t first_id = 0;             ///< Of the run.
  std::uint64_t extent_unplanned = 0;     ///< Picks of its extent that have no row yet.
  std::uint64_t last_row = 0;             ///< That was planned from its extent.
  std::uint32_t block_records = 0;
  std::uint32_t record_bytes = 0;       ///< Of each record of the shard, where all have the same.
  RowStatus status = RowStatus::first;  ///< Of its rows.
  bool resolved = false;
  bool listed = false;  ///< As coming.

  Extent* extent = nullptr;     ///< That the block belongs to.
  std::uint64_t unplanned = 0;  ///< Picks of the run that lie in extents whose picks do not all have a row.

  Run run;
  std::shared_ptr<const ShardFile> file;  ///< Null after resolving where the shard could not be opened.
  RunBlocks blocks;
  const PartialRun* partial = nullptr;  ///< Which records come, where not all do.

  /// Whether the record is in the block, and that in memory, by plan.
  bool is_at(std::uint64_t record) const noexcept { return block != nullptr && record - block_first < block_records; }
  /// Notes a row that is planned from the block; whether it is the last one of the extent.
  bool plan_row(std::uint64_t row) noexcept {
    last_row = row;
    return --extent_unplanned == 0;
  }
  /// Turns to the block of a record of the run, in memory or not. Needs: the file.
  void turn_to(std::uint64_t record) noexcept;
  /// Notes where it lies, once. Needs: its shard's file, which it does not keep.
  void list(const std::shared_ptr<const ShardFile>& in, std::vector<Coming>& coming);
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

  /// Opens the shards of needed runs before number `until`, while not too many are open. Where they lie goes to `coming`,
  /// if that is given, as far as their shards are open.
  void look_ahead(std::uint64_t until, ShardTable& shards, std::vector<Coming>* coming);
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
