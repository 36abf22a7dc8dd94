// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/slab.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace dovetail::detail {

SlabParts::SlabParts(std::span<std::byte> bytes, std::uint32_t rows) noexcept {
  const SlabLayout layout = SlabLayout::for_rows(rows);
  offsets = reinterpret_cast<std::int64_t*>(bytes.data() + layout.offsets);
  ids = reinterpret_cast<std::uint64_t*>(bytes.data() + layout.ids);
  status = reinterpret_cast<RowStatus*>(bytes.data() + layout.status);
  values = bytes.data() + layout.values;
  capacity = bytes.size() - layout.values;
}

Slab::Slab(Step& step, SlotRing& ring, Oversize oversize)
    : step_(step), ring_(ring), oversize_(oversize), parts_(step.lease->bytes(), step.row_count) {}

Result<void> Slab::reserve(std::uint64_t bytes, std::uint64_t filled) {
  if (bytes <= parts_.capacity) return {};
  if (oversize_ == Oversize::fail) return too_large(bytes);
  const std::size_t values = SlabLayout::for_rows(step_.row_count).values;
  Result<std::shared_ptr<SlotLease>> larger = ring_.spill(step_.lease, values + std::max(bytes, 2 * parts_.capacity));
  if (!larger.has_value()) return larger.error();
  std::memcpy((*larger)->bytes().data(), step_.lease->bytes().data(), values + filled);
  step_.lease = std::move(*larger);
  parts_ = SlabParts(step_.lease->bytes(), step_.row_count);
  return {};
}

std::int64_t Slab::close_gaps(std::uint32_t first, std::uint32_t end) noexcept {
  std::int64_t begin = parts_.offsets[first];
  std::int64_t to = begin;
  for (std::uint32_t row = first; row < end; ++row) {
    const std::int64_t next = parts_.offsets[row + 1];
    if (parts_.status[row] != RowStatus::damaged_empty) {
      std::memmove(parts_.values + to, parts_.values + begin, static_cast<std::size_t>(next - begin));
      to += next - begin;
    }
    parts_.offsets[row + 1] = to;
    begin = next;
  }
  return to;
}

std::array<std::uint32_t, 5> Slab::count_status() const noexcept {
  std::array<std::uint32_t, 5> counts{};
  const RowStatus* const status = parts_.status;
  // Nearly always all are the same.
  if (std::memcmp(status, status + 1, step_.row_count - 1) == 0) {
    counts[static_cast<std::size_t>(status[0])] = step_.row_count;
    return counts;
  }
  for (std::uint32_t row = 0; row < step_.row_count; ++row) ++counts[static_cast<std::size_t>(status[row])];
  return counts;
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
  return Error(Errc::batch_too_large, "step " + std::to_string(step_.number) + " of epoch " +
                                          std::to_string(step_.epoch) + " needs at least " + std::to_string(bytes) +
                                          " bytes for its rows, a slot has " + std::to_string(parts_.capacity) +
                                          "; its largest record is id " + std::to_string(largest_id) + " with " +
                                          std::to_string(largest_bytes) +
                                          " bytes: raise memory_bytes, lower the batch, or let it spill");
}

}  // namespace dovetail::detail
