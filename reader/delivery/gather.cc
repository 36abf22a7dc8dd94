// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/gather.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "reader/dataset/stored_block.h"
#include "reader/delivery/gather_columns.h"
#include "reader/delivery/record_prefetch.h"
#include "reader/delivery/scatter.h"
#include "reader/delivery/slab.h"
#include "reader/delivery/substitution.h"
#include "reader/fill/step_errors.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kCopySlack = 64;

/// Copies a record; with `slack`, up to `kCopySlack` bytes behind it are read and written as well, which spares short
/// records a call and a branch by their length.
[[gnu::always_inline]] inline void copy_record(std::byte* out, const std::byte* in, std::size_t bytes,
                                               bool slack) noexcept {
  if (!slack || bytes > 4 * kCopySlack) {
    if (bytes > 0) std::memcpy(out, in, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kCopySlack) std::memcpy(out + at, in + at, kCopySlack);
}

/// Reads a direct record into its row if that needs no waiting.
void read_direct(Step& step, const Extent& extent, std::uint32_t row, std::uint64_t at, Storage& storage) {
  DirectRead& read = step.direct.emplace_back();
  read.extent = &extent;
  read.row = row;
  read.at = at;
  const Result<bool> there = storage.try_read(extent.file->file(), extent.file_offset, destination(step, read));
  ++step.direct_reads;
  if (there.has_value() && !*there) {
    read.waits = true;
    return;
  }
  if (!there.has_value()) read.read = there.error();
  check_direct(step, read, storage);
  if (read.damage.has_value()) return;
  step.direct_bytes += extent.record_bytes();
  step.direct.pop_back();
}

/// Copies the rows from `row` on whose blocks are in memory and good, as long as they fit; gives the first that is not
/// copied, and moves `end` to the end of the values.
std::uint32_t copy_blocks(const Step& step, const BatchRows& of, const RecordPrefetch& prefetch, const Slab& slab,
                          std::uint32_t row, std::uint64_t& end) noexcept {
  // Copies in registers: the stores below could change anything else, as far as the compiler knows.
  const std::uint32_t before = of.batch * step.batch_rows;
  const PlannedRow* const rows = step.rows.data() + before;
  std::int64_t* const offsets = slab.offsets();
  std::uint64_t* const ids = slab.ids();
  RowStatus* const status = slab.status();
  std::byte* const values = slab.values();
  const std::uint64_t capacity = slab.capacity();
  const std::uint32_t end_row = of.end;
  std::uint64_t at = end;
  for (; row < end_row; ++row) {
    prefetch.before(before + row);
    const PlannedRow& from = rows[row];
    if (from.block == nullptr || from.block->damaged()) break;
    const ByteView record = from.block->records[from.record];
    const std::uint64_t after = at + record.size();
    if (after > capacity) break;
    copy_record(values + at, record.data(), record.size(), after + kCopySlack <= capacity);
    at = after;
    offsets[row + 1] = static_cast<std::int64_t>(at);
    ids[row] = from.block->first_id + from.record;
    status[row] = from.status;
  }
  end = at;
  return row;
}

/// Any row: one that is empty, damaged, read from the file, or makes the values larger than the slot.
Result<void> fill_row(Step& step, std::uint32_t in_step, Slab& slab, const GatherRules& rules, Storage& storage,
                      std::uint64_t& end) {
  const PlannedRow& row = step.rows[in_step];
  const std::uint32_t r = in_step % step.batch_rows;
  RowStatus status = row.status;
  if (row.block != nullptr && row.block->damaged()) {
    const Load& load = *row.block->load;
    if (rules.on_damage == OnDamage::fail) {
      return damage_at_step(*load.damage[row.block->number], load.extent, row.block->number, step, in_step, rules);
    }
    status = damaged_empty(status);
  } else if (row.block != nullptr) {
    const ByteView record = row.block->records[row.record];
    if (Result<void> room = slab.reserve(end + record.size(), end); !room.has_value()) return room;
    copy_record(slab.values() + end, record.data(), record.size(), false);
    end += record.size();
  } else if (const Extent* const direct = step.direct_of(row)) {
    const std::uint64_t bytes = direct->record_bytes();
    if (Result<void> room = slab.reserve(end + bytes, end); !room.has_value()) return room;
    read_direct(step, *direct, in_step, end, storage);
    end += bytes;
  }
  slab.offsets()[r + 1] = static_cast<std::int64_t>(end);
  slab.ids()[r] = step.id_of(row);
  slab.status()[r] = status;
  return {};
}

/// Gives the failure of the first row that has one.
Result<void> copy_rows(Step& step, const BatchRows& of, const RecordPrefetch& prefetch, Slab& slab,
                       const GatherRules& rules, Storage& storage) {
  if (of.first == 0) slab.offsets()[0] = 0;
  auto end = static_cast<std::uint64_t>(slab.offsets()[of.first]);
  for (std::uint32_t r = of.first; r < of.end; ++r) {
    r = copy_blocks(step, of, prefetch, slab, r, end);
    if (r == of.end) break;
    const std::uint32_t in_step = of.batch * step.batch_rows + r;
    if (Result<void> filled = fill_row(step, in_step, slab, rules, storage, end); !filled.has_value()) return filled;
  }
  return {};
}

/// Ends the direct reads of the step's next unit: under `OnDamage::fail` the first damaged one is the step's error.
void end_direct_reads(Step& step, SlotRing& ring, const GatherRules& rules) {
  const auto damaged = std::find_if(step.direct.begin(), step.direct.end(),
                                    [](const DirectRead& read) { return read.damage.has_value(); });
  if (damaged == step.direct.end()) return;
  if (rules.on_damage == OnDamage::fail) {
    return step.fail(damaged->row, damage_at_step(*damaged->damage, *damaged->extent, 0, step, damaged->row, rules));
  }
  for (const DirectRead& read : step.direct) {
    if (!read.damage.has_value()) continue;
    const SlabParts slab = parts_of(step, read.row / step.batch_rows);
    RowStatus& status = slab.status[read.row % step.batch_rows];
    status = damaged_empty(status);
  }
  const Unit& unit = step.units[step.next_unit];
  for (std::uint32_t row = unit.first_row; row < unit.end_row;) {
    const BatchRows rows = BatchRows::from(step, row, unit.end_row);
    Slab(step, rows.batch, ring, rules.oversize).close_gaps(rows.first, rows.end);
    row += rows.size();
  }
}

/// Fills the rows of damaged records of one batch that is complete as asked.
Result<void> repair(Step& step, Slab& slab, const GatherRules& rules) {
  if (step.has_gaps) slab.close_gaps(0, slab.rows());
  if (rules.on_damage != OnDamage::substitute) return {};
  if (std::none_of(slab.status(), slab.status() + slab.rows(), is_damaged)) return {};
  return substitute_rows(slab, rules.rows_per_lane);
}

}  // namespace

Error damage_at_step(const Error& damage, const Extent& extent, std::uint32_t block_in_extent, const Step& step,
                     std::uint32_t row, const GatherRules& rules) {
  const std::uint64_t block = extent.first_block + block_in_extent;
  return needed_at_step(damage, extent.file->first_record(block), extent.file->first_record(block + 1), rules.rank,
                        step.number + row / step.batch_rows, step.epoch)
      .at(damage.path(), extent.file_offset);
}

ReadInto destination(Step& step, DirectRead& read) {
  const SlabParts slab = parts_of(step, read.row / step.batch_rows);
  return {std::span(read.head).first(head_bytes(*read.extent->file)),
          {slab.values + read.at, read.extent->record_bytes()}};
}

void check_direct(Step& step, DirectRead& read, Storage& storage) {
  const Extent& extent = *read.extent;
  const ReadInto into = destination(step, read);
  const auto check = [&] { return check_single(*extent.file, extent.first_block, into.first, into.second); };
  Result<void> good = read.read.has_value() ? check() : read.read;
  if (!good.has_value() && !storage.gave_up(good.error())) {
    ++step.retried_reads;
    good = storage.read_again(extent.file->file(), extent.file_offset, into);
    if (good.has_value()) good = check();
  }
  if (!good.has_value()) read.damage = good.error().at(extent.file->file().path(), extent.file_offset);
}

void gather_unit(Step& step, SlotRing& ring, const GatherRules& rules, Storage& storage) {
  if (step.laid_out) return fill_late_rows(step, rules);
  if (rules.columns != nullptr) return gather_columns(step, ring, rules);
  const Unit& unit = step.units[step.next_unit];
  const RecordPrefetch prefetch(step, unit);
  step.direct.clear();
  for (std::uint32_t row = unit.first_row; row < unit.end_row;) {
    const BatchRows rows = BatchRows::from(step, row, unit.end_row);
    Slab slab(step, rows.batch, ring, rules.oversize);
    if (Result<void> copied = copy_rows(step, rows, prefetch, slab, rules, storage); !copied.has_value()) {
      std::erase_if(step.direct,
                    [](const DirectRead& read) { return !read.damage.has_value(); });  // noted all the same
      return step.fail(row, copied.error());
    }
    row += rows.size();
  }
}

std::uint64_t gathered_bytes(const Step& step) {
  std::uint64_t bytes = 0;
  const Unit& unit = step.units[step.next_unit];
  for (std::uint32_t row = unit.first_row; row < unit.end_row && !step.error.has_value();) {
    const BatchRows rows = BatchRows::from(step, row, unit.end_row);
    row += rows.size();
    if (!step.lease->columns().empty()) {
      if (rows.end == step.batch_rows) bytes += step.lease->columns()[rows.batch].layout.bytes;
      continue;
    }
    const SlabParts slab = parts_of(step, rows.batch);
    bytes += static_cast<std::uint64_t>(slab.offsets[rows.end] - slab.offsets[rows.first]);
  }
  return bytes;
}

void finish_unit(Step& step, SlotRing& ring, const GatherRules& rules) {
  if (rules.columns != nullptr) return;  // each batch was finished with its last row
  if (!step.error.has_value()) end_direct_reads(step, ring, rules);
  if (rules.on_damage != OnDamage::substitute && !step.has_gaps) return;
  const Unit& unit = step.units[step.next_unit];
  const std::uint32_t end = step.error.has_value() ? step.good_batches : unit.end_row / step.batch_rows;
  for (std::uint32_t batch = unit.first_row / step.batch_rows; batch < end; ++batch) {
    Slab slab(step, batch, ring, rules.oversize);
    if (Result<void> repaired = repair(step, slab, rules); !repaired.has_value()) {
      return step.fail(batch * step.batch_rows, repaired.error());
    }
  }
}

}  // namespace dovetail::detail
