// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/gather_columns.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reader/delivery/record_prefetch.h"
#include "reader/delivery/slab.h"
#include "reader/fill/substitution.h"

namespace dovetail::detail {

namespace {

/// Rows of one batch of a step on their way into its columns.
class ColumnGathering {
 public:
  ColumnGathering(Step& step, const BatchRows& rows, SlotRing& ring, const GatherRules& rules)
      : step_(step),
        rows_(rows),
        rules_(rules),
        decoder_(*step.decoder),
        slab_(step, rows.batch, ring, rules.oversize),
        held_limit_(slab_.may_grow() ? UINT64_MAX : rules.columns->held_limit()) {}

  /// Gives the failure of the first row that has one.
  Result<void> add_rows(const RecordPrefetch& prefetch);
  /// Completes the batch if these are its last rows; else their records need not stay.
  Result<void> end_rows();

 private:
  std::span<std::byte> values() const noexcept { return {slab_.values(), slab_.capacity()}; }
  std::uint32_t in_step(std::uint32_t row) const noexcept { return rows_.batch * step_.batch_rows + row; }
  /// Whether the decoder holds no more than it may.
  Result<void> check_held() const;
  /// The record of the row is damaged.
  Result<void> lose_damaged(std::uint32_t row, const PlannedRow& from);
  /// The record of the row does not fit.
  Result<void> lose_unfit(std::uint32_t row, const PlannedRow& from, const Error& why);
  Error unfit_at_step(const PlannedRow& from, const Error& why) const;
  void substitute();

  Step& step_;
  const BatchRows& rows_;
  const GatherRules& rules_;
  ColumnDecoder& decoder_;
  Slab slab_;
  const std::uint64_t held_limit_;
};

Result<void> ColumnGathering::add_rows(const RecordPrefetch& prefetch) {
  if (rows_.first == 0) {
    if (Result<void> begun = decoder_.begin(step_.batch_rows, values()); !begun.has_value()) return begun;
    std::fill_n(slab_.offsets(), step_.batch_rows + 1, 0);
    step_.largest_id = kNoId;
    step_.largest_bytes = 0;
  }
  for (std::uint32_t row = rows_.first; row < rows_.end; ++row) {
    prefetch.before(in_step(row));
    const PlannedRow& from = step_.rows[in_step(row)];
    slab_.ids()[row] = step_.id_of(from);
    slab_.status()[row] = from.status;
    if (from.block == nullptr) {
      decoder_.add_empty(row);
      continue;
    }
    if (from.block->damaged()) {
      if (Result<void> lost = lose_damaged(row, from); !lost.has_value()) return lost;
      continue;
    }
    const ByteView record = from.block->records[from.record];
    if (record.size() >= step_.largest_bytes) {
      step_.largest_bytes = record.size();
      step_.largest_id = slab_.ids()[row];
    }
    const Result<void> added = decoder_.add(row, record);
    if (added.has_value()) [[likely]] {
      if (Result<void> held = check_held(); !held.has_value()) return held;
      continue;
    }
    if (Result<void> lost = lose_unfit(row, from, added.error()); !lost.has_value()) return lost;
  }
  return {};
}

Result<void> ColumnGathering::check_held() const {
  if (decoder_.held_bytes() <= held_limit_) [[likely]]
    return {};
  return slab_.too_large(decoder_.fixed_bytes(step_.batch_rows) + decoder_.held_bytes(), step_.largest_id,
                         step_.largest_bytes);
}

Result<void> ColumnGathering::lose_damaged(std::uint32_t row, const PlannedRow& from) {
  if (rules_.on_damage == OnDamage::fail) {
    const Load& load = *from.block->load;
    const std::uint32_t block = from.block->number;
    return damage_at_step(*load.damage[block], load.extent, block, step_, in_step(row), rules_);
  }
  decoder_.add_empty(row);
  slab_.status()[row] = damaged_empty(from.status);
  return {};
}

Result<void> ColumnGathering::lose_unfit(std::uint32_t row, const PlannedRow& from, const Error& why) {
  ++step_.unfit_records;
  if (step_.unfit.size() < kNamedUnfit) {
    const Extent& extent = from.block->load->extent;
    step_.unfit.push_back({.shard = extent.shard,
                           .record = extent.file->first_record(extent.first_block + from.block->number) + from.record,
                           .error = unfit_at_step(from, why)});
  }
  if (rules_.on_damage == OnDamage::fail) return step_.unfit.back().error;
  slab_.status()[row] = damaged_empty(from.status);
  return {};
}

Error ColumnGathering::unfit_at_step(const PlannedRow& from, const Error& why) const {
  const Extent& extent = from.block->load->extent;
  const std::uint64_t block = extent.first_block + from.block->number;
  // The checksums of its block are right, so that whatever does not fit is as it was written: other columns mend it.
  const char* const what =
      why.is(Errc::bad_message) ? ", is no tf.train.Example, which columns are made of" : ", does not fit the columns";
  const std::string text = why.detail() + "; record " + std::to_string(extent.file->first_record(block) + from.record) +
                           " of the shard, needed by rank " + std::to_string(rules_.rank) + " at step " +
                           std::to_string(step_.number + rows_.batch) + " of epoch " + std::to_string(step_.epoch) +
                           what;
  return Error(Errc::invalid_option, text).at(extent.file->file().path(), extent.file->blocks()[block].offset);
}

void ColumnGathering::substitute() {
  const std::span<RowStatus> status(slab_.status(), slab_.rows());
  const std::vector<std::uint32_t> source = substitution_sources(status, rules_.rows_per_lane);
  std::vector<std::uint32_t> filled;
  for (std::uint32_t row = 0; row < slab_.rows(); ++row) {
    if (source[row] == row) continue;
    decoder_.copy_row(source[row], row);
    status[row] = substituted(status[row]);
    filled.push_back(row);
  }
  if (slab_.may_grow() || decoder_.bytes() <= slab_.capacity()) return;
  // Rows stay empty rather than fail a step whose own records fit: as many are filled as there is room for.
  const auto fill_first = [&](std::size_t count) {
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (i < count) {
        decoder_.copy_row(source[filled[i]], filled[i]);
      } else {
        decoder_.add_empty(filled[i]);
      }
      RowStatus& of_row = status[filled[i]];
      of_row = i < count ? substituted(of_row) : damaged_empty(of_row);
    }
    return decoder_.bytes() <= slab_.capacity();
  };
  std::size_t fits = 0;
  std::size_t too_many = filled.size();
  while (fits + 1 < too_many) {
    const std::size_t half = fits + (too_many - fits) / 2;
    (fill_first(half) ? fits : too_many) = half;
  }
  fill_first(fits);
}

Result<void> ColumnGathering::end_rows() {
  if (rows_.end < step_.batch_rows) {
    decoder_.keep();
    return check_held();
  }
  const bool substitutes = rules_.on_damage == OnDamage::substitute;
  if (substitutes && std::any_of(slab_.status(), slab_.status() + slab_.rows(), is_damaged)) substitute();
  if (const std::uint64_t bytes = decoder_.bytes(); bytes > slab_.capacity()) {
    if (!slab_.may_grow()) return slab_.too_large(bytes, step_.largest_id, step_.largest_bytes);
    if (Result<void> room = slab_.reserve(bytes, decoder_.fixed_bytes(step_.batch_rows)); !room.has_value()) {
      return room;
    }
  }
  const Result<const ColumnLayout*> layout = decoder_.finish(values());
  if (!layout.has_value()) return layout.error();
  std::vector<BatchColumns>& columns = step_.lease->columns();
  columns.resize(step_.batches());  // at the first batch: later ones may be with the trainer
  columns[rows_.batch] = {.schema = rules_.columns->schema(), .layout = **layout};
  return {};
}

}  // namespace

void gather_columns(Step& step, SlotRing& ring, const GatherRules& rules) {
  const Unit& unit = step.units[step.next_unit];
  const RecordPrefetch prefetch(step, unit);
  if (step.decoder == nullptr) step.decoder = rules.columns->take();
  for (std::uint32_t row = unit.first_row; row < unit.end_row;) {
    const BatchRows rows = BatchRows::from(step, row, unit.end_row);
    ColumnGathering gathering(step, rows, ring, rules);
    Result<void> done = gathering.add_rows(prefetch);
    if (done.has_value()) done = gathering.end_rows();
    if (!done.has_value()) return step.fail(row, done.error());
    row += rows.size();
  }
  if (unit.end_row == step.row_count) rules.columns->give_back(std::move(step.decoder));
}

}  // namespace dovetail::detail
