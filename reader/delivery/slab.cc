// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/slab.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace dovetail::detail {

Slab::Slab(Step& step, SlotRing& ring, Oversize oversize)
    : step_(step), ring_(ring), oversize_(oversize), layout_(SlabLayout::for_rows(step.rows.size())) {
  point_to(step.lease->bytes());
}

void Slab::point_to(std::span<std::byte> bytes) {
  offsets_ = reinterpret_cast<std::int64_t*>(bytes.data() + layout_.offsets);
  ids_ = reinterpret_cast<std::uint64_t*>(bytes.data() + layout_.ids);
  status_ = reinterpret_cast<RowStatus*>(bytes.data() + layout_.status);
  values_ = bytes.data() + layout_.values;
  capacity_ = bytes.size() - layout_.values;
}

Result<void> Slab::reserve(std::uint64_t bytes, std::uint64_t filled) {
  if (bytes <= capacity_) return {};
  if (oversize_ == Oversize::fail) return too_large(bytes);
  Result<std::shared_ptr<SlotLease>> larger = ring_.spill(step_.lease, layout_.values + std::max(bytes, 2 * capacity_));
  if (!larger.has_value()) return larger.error();
  std::memcpy((*larger)->bytes().data(), step_.lease->bytes().data(), layout_.values + filled);
  step_.lease = std::move(*larger);
  point_to(step_.lease->bytes());
  return {};
}

Error Slab::too_large(std::uint64_t bytes) const {
  std::uint64_t largest_id = kNoId;
  std::size_t largest_bytes = 0;
  const Unit& unit = step_.units[step_.next_unit];
  for (std::uint32_t r = unit.first_row; r < unit.end_row; ++r) {
    const PlannedRow& row = step_.rows[r];
    std::size_t size = 0;
    if (row.direct != nullptr) {
      size = row.direct->record_bytes();
    } else if (row.block != nullptr && !row.block->damaged()) {
      size = row.block->records[row.record].size();
    } else {
      continue;
    }
    if (size > largest_bytes || largest_id == kNoId) {
      largest_bytes = size;
      largest_id = row.id;
    }
  }
  return Error(Errc::batch_too_large,
               "step " + std::to_string(step_.number) + " of epoch " + std::to_string(step_.epoch) +
                   " needs at least " + std::to_string(bytes) + " bytes for its rows, a slot has " +
                   std::to_string(capacity_) + "; its largest record is id " + std::to_string(largest_id) + " with " +
                   std::to_string(largest_bytes) + " bytes: raise memory_bytes, lower the batch, or let it spill");
}

}  // namespace dovetail::detail
