// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/columns.h>
#include <dovetail/error.h>
#include <dovetail/order.h>
#include <dovetail/state.h>

#include "reader/dataset/stored_block.h"
#include "reader/delivery/load.h"
#include "reader/fill/fill_rules.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

struct RunEntry;

/// Where the bytes of one row come from: a loaded block, or straight from the file, or neither. Small, because there is
/// one for each row between plan and gathering.
struct PlannedRow {
  const LoadedBlock* block = nullptr;
  std::uint32_t record = 0;  ///< In the block; without one, the row's place among the blockless, if it has an id.
  RowStatus status = RowStatus::empty;  ///< As planned, or damaged where the shard could not be opened.
};

/// A row that has an id, but no loaded block.
struct BlocklessRow {
  std::uint64_t id = kNoId;
  const Extent* direct = nullptr;  ///< Read from there; null where the shard could not be opened.
};

/// A row of a step that is laid out which its block could not bring: it was planned after its load was sealed.
struct LateRow {
  const LoadedBlock* block = nullptr;
  std::uint32_t record = 0;  ///< In the block.
  std::uint32_t row = 0;
};

/// A row of a step that is laid out whose block is damaged.
struct LostRow {
  std::uint32_t row = 0;
  std::uint32_t block = 0;         ///< In the extent,
  const Extent* extent = nullptr;  ///< which lives as long as the step is not gathered.
  Error damage;
};

/// A record that did not fit the columns.
struct UnfitRecord {
  std::uint32_t shard = 0;
  std::uint64_t record = 0;  ///< In the shard.
  Error error;               ///< With the file, and the offset of its block.
};

/// Consecutive rows of a step that are gathered together, for which their loads must fit the budget together: a whole
/// step, unless memory is tight; but where a step has several batches, one that begins loads begins a unit as well.
struct Unit {
  std::uint32_t first_row = 0;
  std::uint32_t end_row = 0;
  std::uint64_t loads_before = 0;  ///< All loads with lower numbers must be ready.
  std::uint64_t load_bytes = 0;    ///< Of the loads that begin with it.
  std::uint64_t direct_bytes = 0;  ///< Read straight into its rows.

  std::vector<std::unique_ptr<Load>> evicted;   ///< To be dropped before its own loads begin, for the budget.
  std::vector<std::unique_ptr<Load>> ended;     ///< To be dropped once it is gathered: nothing else uses them.
  std::vector<std::unique_ptr<RunEntry>> runs;  ///< Planned to their ends; dropped with `ended`.
};

/// A record on its way from the file into its row.
struct DirectRead {
  const Extent* extent = nullptr;
  std::uint32_t row = 0;
  std::uint64_t at = 0;  ///< In the values.
  bool waits = false;    ///< For storage.
  Result<void> read;
  std::optional<Error> damage;
  std::array<std::byte, kMaxHeadBytes> head;  ///< What lies before the record in the file.
};

/// A batch on its way from the plan to the trainer, or the end of an epoch. Where batches are tiny, several consecutive
/// ones: what a step costs beside its bytes is then spent once for all of them. They share a slot, each in a slab of its
/// own, and are told apart again when they are handed over.
///
/// Threads: belongs to the planner while it is being planned, then to the reader's lock, but for the gathering of one
///          unit at a time.
struct Step {
  std::shared_ptr<const State> origin;  ///< That the batch's state is counted from.
  std::uint32_t epoch = 0;
  std::uint64_t number = 0;  ///< Of the first batch.
  bool end_of_epoch = false;

  std::uint32_t row_count = 0;   ///< Of all batches.
  std::uint32_t batch_rows = 1;  ///< Of each.
  std::size_t slab_bytes = 0;    ///< From one batch to the next, in the slot.
  bool laid_out = false;         ///< Offsets, ids and status are in its slot as planned; blocks bring the bytes.
  bool misses_rows = false;      ///< Some were planned as damaged, with no room.
  bool has_gaps = false;         ///< Some have room, but are damaged.
  std::vector<PlannedRow> rows;  ///< At least one for each, where it is not laid out.
  std::vector<BlocklessRow> blockless;
  std::vector<LateRow> late;  ///< Of a step that is laid out, in order.
  std::vector<LostRow> lost;  ///< The same, in any order; noted while others may be gathered.
  std::vector<Unit> units;
  std::vector<Load*> loads;       ///< That begin with it, in order.
  std::size_t next_unit = 0;      ///< Gathered so far.
  std::uint32_t handed_over = 0;  ///< Of its batches.
  std::size_t retired = 0;        ///< Units whose ended loads are dropped.
  bool gathering = false;
  bool done = false;
  std::optional<Error> error;      ///< Why the step cannot be delivered,
  std::uint32_t good_batches = 0;  ///< but for so many at its beginning.

  // For gathering, as of when it began.
  std::vector<LostRow> lost_before;        ///< Taken from `lost`: all of the unit's, and some of later ones.
  const Step* following = nullptr;         ///< Whose loads are ready as well: its first records can be asked for.
  bool asked_for = false;                  ///< Its own were, by the step before.
  std::unique_ptr<ColumnDecoder> decoder;  ///< From its first unit to its last, where records become columns.

  // What gathering has made.
  std::shared_ptr<SlotLease> lease;
  std::uint64_t largest_id = kNoId;  ///< Of the records in the batch that becomes columns.
  std::size_t largest_bytes = 0;
  std::vector<UnfitRecord> unfit;  ///< Of the unit, the first ones.
  std::uint32_t unfit_records = 0;
  std::vector<DirectRead> direct;  ///< Those of the unit that had to wait for storage, or are damaged.
  /// Each check counts down behind what it has written, and the last one, which finishes the unit, sees all of it.
  std::atomic<std::uint32_t> direct_left = 0;
  std::atomic<std::uint32_t> retried_reads = 0;
  std::uint32_t direct_reads = 0;
  std::uint64_t direct_bytes = 0;
  std::chrono::nanoseconds gathering_time{};

  /// Whether blocks alone do not complete it. Needs: it is laid out, and not being gathered.
  bool needs_gathering() const noexcept {
    return misses_rows || has_gaps || !late.empty() || !lost.empty() || !lost_before.empty();
  }
  /// The planned record of a row. Needs: its block loaded, if it has one.
  std::uint64_t id_of(const PlannedRow& row) const noexcept {
    if (row.block != nullptr) return row.block->first_id + row.record;
    return row.status == RowStatus::empty ? kNoId : blockless[row.record].id;
  }
  /// Where a row is read from straight, if so.
  const Extent* direct_of(const PlannedRow& row) const noexcept {
    return row.block != nullptr || row.status == RowStatus::empty ? nullptr : blockless[row.record].direct;
  }
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): once it is laid out, a batch has a row
  std::uint32_t batches() const noexcept { return row_count / batch_rows; }
  /// Batches that can be handed over. May be asked while a unit is being gathered.
  std::uint32_t ready_batches() const noexcept {
    if (done && error.has_value()) return good_batches;
    return next_unit == 0 ? 0 : units[next_unit - 1].end_row / batch_rows;
  }
  /// It cannot be delivered from this row's batch on.
  void fail(std::uint32_t row, Error why) {
    error = std::move(why);
    good_batches = row / batch_rows;
  }
  /// Makes it as new, but for the memory of its lists.
  void reset();
};

}  // namespace dovetail::detail
