// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/order.h>

#include "reader/fetch/damage_log.h"
#include "reader/fetch/shard_table.h"
#include "reader/fill/column_rows.h"
#include "reader/fill/fill_rules.h"
#include "reader/fill/row_read.h"
#include "reader/fill/slot_rows.h"
#include "reader/fill/step_errors.h"
#include "reader/memory/slot_ring.h"
#include "reader/storage/storage.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

/// Parts that filling uses. Borrowed.
struct FillParts {
  const Dataset& dataset;
  SlotRing& ring;
  ShardTable& shards;
  Storage& storage;
  DamageLog& damage;
};

/// Fills the batches of a slot in order: records become rows, or columns.
///
/// A record in memory is copied. A placed record is read straight into its row. If reads have to
/// wait, the caller makes the reads of `waiting`, calls `check` for each of them, and continues
/// with `resume` after all are checked.
///
/// Threads: one at a time. `check` may run on several threads, each with another read.
/// Cost:    no allocation for records in memory.
class SlotFill {
 public:
  SlotFill(const FillRules& rules, const FillParts& parts);

  /// Begins with the first row of the first batch. Discards all earlier state.
  void begin(std::shared_ptr<SlotLease> lease, std::uint32_t epoch, std::uint64_t step, std::uint32_t batches);

  /// Fills the next rows with these records, which all have one status. Returns the number of rows
  /// filled. It is less than `records.size()` if a batch has to wait for reads, if a shard is not
  /// open, or after an error.
  template <class E>
  std::size_t fill(std::span<const E> records, RowStatus status);
  /// Adds rows that have no planned record.
  std::size_t fill_empty(std::size_t rows);
  /// Call this before the memory of records is freed: copies what columns still need of them. Reads
  /// in `waiting` still need their files.
  void let_go();

  /// The reads that the storage must do: none after an error. They stay at their addresses until
  /// `resume`.
  std::vector<RowRead*> waiting();
  /// Checks the record as `check_twice`, and decodes it into its row if it is encoded.
  void check(RowRead& read);
  /// Continues after all reads of `waiting` are checked.
  void resume();
  /// Whether the next row needs a shard that is not open.
  bool waits_for_shard() const noexcept { return waits_for_shard_; }

  /// Number of batches that are complete.
  std::uint32_t ready_batches() const noexcept { return ready_; }
  /// The error because of which the next batch cannot be completed.
  const std::optional<Error>& error() const noexcept { return error_; }
  const std::shared_ptr<SlotLease>& lease() const noexcept { return rows_.lease(); }
  std::shared_ptr<SlotLease> take_lease() noexcept { return rows_.take_lease(); }

  FillCounts take_counts() noexcept { return std::exchange(counts_, {}); }

 private:
  /// Fills a row with a record from anywhere. False if the row has to wait, or after an error.
  bool fill_row(const SizedEntry& record, RowStatus status);
  bool add(std::uint64_t id, RowStatus status, ByteView record);
  /// Handles the result of adding a row of columns. False after an error.
  bool note_added(std::uint32_t row, ByteView record, const Result<void>& added);
  /// Reads a placed record, or adds the read to those that wait. False if its shard is not open, or
  /// after an error.
  bool read_record(const SizedEntry& record, RowStatus status);
  /// Notes a loss of the rows of this batch. False after an error.
  bool note_loss(std::uint64_t first_id, const Loss& loss);
  /// Notes a loss, and adds the row of a lost record.
  bool lose(std::uint64_t id, RowStatus status, const Loss& loss);
  /// The same for a placed record, whose row was already added.
  bool lose_placed(const RowRead& read);
  bool begin_row();
  bool end_row();
  bool fail(Error why);
  /// Fails unless the row, which needs `bytes`, was added.
  bool fail_unless(const Result<void>& done, std::uint64_t bytes);
  Error unfit_at_step(std::uint64_t id, ByteView record, const Error& why) const;
  StepName step() const noexcept;

  const FillRules& rules_;
  const FillParts& parts_;
  std::uint32_t epoch_ = 0;
  std::uint64_t first_step_ = 0;
  SlotRows rows_;
  std::optional<ColumnRows> columns_;
  std::deque<RowRead> reads_;  // that wait
  bool waits_for_shard_ = false;
  bool has_damage_ = false;  // in the rows of this batch
  std::uint32_t ready_ = 0;
  std::optional<Error> error_;
  FillCounts counts_;
};

}  // namespace dovetail::detail
