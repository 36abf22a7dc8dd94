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
#include "reader/fill/row_reads.h"
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
/// A record in memory is copied. One that has a place in a file is read: straight into its row if it is large,
/// otherwise with its whole block, and copied. If a read would have to wait, the caller makes the reads of `waiting`,
/// calls `check` for each, and continues with `resume` when all are done.
///
/// Threads: one at a time. `check` may run on several, each with a read of its own.
/// Cost:    no allocation for records in memory.
class SlotFill {
 public:
  SlotFill(const FillRules& rules, const FillParts& parts);

  /// Begins with the first row of the first batch. Discards all earlier state.
  void begin(std::shared_ptr<SlotLease> lease, std::uint32_t epoch, std::uint64_t step, std::uint32_t batches);

  /// Fills the next rows with these records, all of one status. Returns the number filled: fewer if a read has to wait,
  /// a shard is not open, or after an error.
  std::size_t fill(std::span<const Entry> records, RowStatus status);
  std::size_t fill(std::span<const SizedEntry> records, RowStatus status);
  /// The same for places with `OrderKind::global`: the number of the record in its shard.
  std::size_t fill_from_blocks(std::span<const SizedEntry> records, RowStatus status);
  /// Adds rows that have no planned record.
  std::size_t fill_empty(std::size_t rows);
  /// Records filled in so far may be freed afterwards. The reads of `waiting` still need their files.
  void let_go();

  /// Reads for the storage. They stay at their addresses until `resume`.
  std::vector<RowRead*> waiting();
  void check(RowRead& read);
  /// Continues after all of `waiting` are checked.
  void resume();
  /// For a batch that has failed: others may need the files.
  void drop_reads() noexcept { reads_.clear(); }
  /// Whether the next row needs a shard that is not open.
  bool waits_for_shard() const noexcept { return waits_for_shard_; }

  /// Batches that are complete.
  std::uint32_t ready_batches() const noexcept { return ready_; }
  /// Why the next batch cannot be completed.
  const std::optional<Error>& error() const noexcept { return error_; }
  const std::shared_ptr<SlotLease>& lease() const noexcept { return rows_.lease(); }
  std::shared_ptr<SlotLease> take_lease() noexcept { return rows_.take_lease(); }

  FillCounts take_counts() noexcept { return std::exchange(counts_, {}); }
  /// The first records that do not fit the columns.
  std::vector<Loss> take_unfit() noexcept { return std::exchange(unfit_, {}); }

 private:
  template <class E>
  std::size_t fill_all(std::span<const E> records, RowStatus status);
  /// Fills a row with a record in memory; false if it failed.
  bool fill_row(const SizedEntry& record, RowStatus status);
  bool add(std::uint64_t id, RowStatus status, ByteView record);
  bool add_lost(std::uint64_t id, RowStatus status, const Loss& loss);
  /// Notes the result of adding a row of columns.
  bool note_added(std::uint32_t row, const Result<void>& added);
  /// False if it has to wait, or failed.
  bool read_record(const SizedEntry& record, RowStatus status);
  bool read_block(const SizedEntry& record, RowStatus status);
  bool add_from_block(const SizedEntry& record, RowStatus status, const ShardFile& file, const Result<void>& read,
                      std::span<std::byte> stored);
  /// Memory to read a block to, valid until the next block.
  std::span<std::byte> room_for_block(const ShardFile& file, std::size_t block);
  /// The shard; null if it is not open, or cannot be opened.
  std::shared_ptr<const ShardFile> open(std::uint32_t shard);
  /// Requests the reads of the rows after one that waits.
  void read_ahead(std::span<const SizedEntry> records);
  Loss loss_of_shard(std::uint32_t shard) const;
  /// Notes a loss, and adds the row.
  bool lose(std::uint64_t id, RowStatus status, const Loss& loss);
  /// The same for a row that was already added; its bytes stay.
  bool lose_placed(const RowRead& read);
  bool has_placed_reads() const noexcept;
  bool begin_row();
  bool end_row();
  bool fail(Error why);
  bool fail_unless(const Result<void>& done, std::uint64_t id, std::uint64_t bytes);
  Error unfit_at_step(std::uint64_t id, const Error& why) const;
  StepName step() const noexcept;
  LargestRecord largest_with(std::uint64_t id, std::uint64_t bytes) const noexcept;

  const FillRules& rules_;
  const FillParts& parts_;
  std::uint32_t epoch_ = 0;
  std::uint64_t first_step_ = 0;
  SlotRows rows_;
  std::optional<ColumnRows> columns_;
  std::deque<RowRead> reads_;
  std::vector<std::byte> stored_;   // a block, of those that are read for one row
  std::vector<std::byte> decoded_;  // the same
  bool waits_for_shard_ = false;
  std::uint32_t ready_ = 0;
  std::optional<Error> error_;
  std::vector<Loss> unfit_;
  FillCounts counts_;
};

}  // namespace dovetail::detail
