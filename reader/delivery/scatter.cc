// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/scatter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "reader/delivery/slab.h"
#include "reader/delivery/streaming_copy.h"

namespace dovetail::detail {

namespace {

void scatter_block(const format::BlockRecords& records, std::size_t bytes, const std::uint32_t* to,
                   std::byte* first_slot, bool streams) noexcept {
  const auto by_lines = has_line_stores() ? &store_lines : &stream_lines;
  const std::size_t stride = bytes + records.gap();
  const std::byte* from = records.begin_of(0);
  for (std::uint32_t record = 0; record < records.size(); ++record, from += stride) {
    if (to[record] == Load::kNowhere) continue;
    std::byte* const out = first_slot + to[record];
    streams ? streaming_copy(out, from, bytes, by_lines) : static_cast<void>(std::memcpy(out, from, bytes));
  }
}

}  // namespace

void scatter(const Load& load, std::byte* first_slot, bool streams) {
  const Extent& extent = load.extent;
  const std::uint32_t bytes = extent.file->info().max_record_bytes;
  std::size_t first = 0;
  for (const LoadedBlock& block : load.blocks) {
    const std::uint32_t* const to = load.destinations.data() + first;
    first += extent.file->blocks()[extent.first_block + block.number].records;
    if (block.damaged()) continue;
    scatter_block(block.records, bytes, to, first_slot, streams);
  }
  if (streams) end_streaming();
}

void fill_late_rows(Step& step, const GatherRules& rules) {
  const Unit& unit = step.units[step.next_unit];
  std::uint32_t first_lost = unit.end_row;
  std::optional<Error> error;
  const auto lose = [&](std::uint32_t row, const Extent& extent, std::uint32_t block, const Error& damage) {
    RowStatus& status = parts_of(step, row / step.batch_rows).status[row % step.batch_rows];
    status = damaged_empty(status);
    step.has_gaps = true;
    if (rules.on_damage != OnDamage::fail || (error.has_value() && row >= first_lost)) return;
    first_lost = row;
    error = damage_at_step(damage, extent, block, step, row, rules);
  };
  std::erase_if(step.lost_before, [&](const LostRow& lost) {
    if (lost.row >= unit.end_row) return false;  // its unit tells, so that the same row fails in every run
    lose(lost.row, *lost.extent, lost.block, lost.damage);
    return true;
  });
  const auto of_unit = std::lower_bound(step.late.begin(), step.late.end(), unit.first_row,
                                        [](const LateRow& late, std::uint32_t row) { return late.row < row; });
  for (auto late = of_unit; late != step.late.end() && late->row < unit.end_row; ++late) {
    if (late->block->damaged()) {
      const Load& load = *late->block->load;
      lose(late->row, load.extent, late->block->number, *load.damage[late->block->number]);
      continue;
    }
    const ByteView record = late->block->records[late->record];
    const SlabParts slab = parts_of(step, late->row / step.batch_rows);
    std::memcpy(slab.values + slab.offsets[late->row % step.batch_rows], record.data(), record.size());
  }
  if (error.has_value()) step.fail(first_lost, *error);
}

}  // namespace dovetail::detail
