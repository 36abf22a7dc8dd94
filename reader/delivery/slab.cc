// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/slab.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace dovetail::detail {

SlabParts parts_of(const Step& step, std::uint32_t batch) noexcept {
  return {
      step.lease->bytes().subspan(batch * step.slab_bytes, step.batches() == 1 ? std::dynamic_extent : step.slab_bytes),
      step.batch_rows};
}

BatchRows BatchRows::from(const Step& step, std::uint32_t at, std::uint32_t end) noexcept {
  const std::uint32_t batch = at / step.batch_rows;
  const std::uint32_t before = batch * step.batch_rows;
  return {.batch = batch, .first = at - before, .end = std::min(end - before, step.batch_rows)};
}

Slab::Slab(Step& step, std::uint32_t batch, SlotRing& ring, Oversize oversize)
    : step_(step), batch_(batch), ring_(ring), oversize_(oversize), parts_(parts_of(step, batch)) {}

Result<void> Slab::reserve(std::uint64_t bytes, std::uint64_t filled) {
  if (bytes <= parts_.capacity) return {};
  if (!may_grow()) return too_large(bytes);
  const std::size_t values = SlabLayout::for_rows(step_.batch_rows).values;
  Result<std::shared_ptr<SlotLease>> larger = ring_.spill(*step_.lease, values + std::max(bytes, 2 * parts_.capacity));
  if (!larger.has_value()) return larger.error();
  std::memcpy((*larger)->bytes().data(), step_.lease->bytes().data(), values + filled);
  step_.lease = std::move(*larger);
  parts_ = parts_of(step_, batch_);
  return {};
}

void Slab::close_gaps(std::uint32_t first, std::uint32_t end) noexcept {
  std::int64_t begin = parts_.offsets[first];
  std::int64_t to = begin;
  for (std::uint32_t row = first; row < end; ++row) {
    const std::int64_t next = parts_.offsets[row + 1];
    if (!is_damaged_empty(parts_.status[row])) {
      std::memmove(parts_.values + to, parts_.values + begin, static_cast<std::size_t>(next - begin));
      to += next - begin;
    }
    parts_.offsets[row + 1] = to;
    begin = next;
  }
}

Error Slab::too_large(std::uint64_t bytes) const {
  std::uint64_t largest_id = kNoId;
  std::size_t largest_bytes = 0;
  const Unit& unit = step_.units[step_.next_unit];
  const BatchRows rows = BatchRows::from(step_, std::max(unit.first_row, batch_ * step_.batch_rows), unit.end_row);
  for (std::uint32_t r = rows.in_step(step_); r < rows.in_step(step_) + rows.size(); ++r) {
    const PlannedRow& row = step_.rows[r];
    std::size_t size = 0;
    if (const Extent* const direct = step_.direct_of(row)) {
      size = direct->record_bytes();
    } else if (row.block != nullptr && !row.block->damaged()) {
      size = row.block->records[row.record].size();
    } else {
      continue;
    }
    if (size > largest_bytes || largest_id == kNoId) {
      largest_bytes = size;
      largest_id = step_.id_of(row);
    }
  }
  return too_large(bytes, largest_id, largest_bytes);
}

Error Slab::too_large(std::uint64_t bytes, std::uint64_t largest_id, std::uint64_t largest_bytes) const {
  return Error(Errc::batch_too_large, "step " + std::to_string(step_.number + batch_) + " of epoch " +
                                          std::to_string(step_.epoch) + " needs at least " + std::to_string(bytes) +
                                          " bytes for its rows, a slot has " + std::to_string(parts_.capacity) +
                                          "; its largest record is id " + std::to_string(largest_id) + " with " +
                                          std::to_string(largest_bytes) +
                                          " bytes: raise memory_bytes, lower the batch, or let it spill");
}

}  // namespace dovetail::detail
