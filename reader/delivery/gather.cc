// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/gather.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace dovetail::detail {

namespace {

/// The parts of a slab while it is being filled.
class Slab {
 public:
  Slab(Step& step, SlotRing& ring, const GatherRules& rules)
      : step_(step), ring_(ring), rules_(rules), layout_(SlabLayout::for_rows(step.rows.size())) {
    point_to(step.lease->bytes());
  }

  std::int64_t* offsets() const noexcept { return offsets_; }
  std::uint64_t* ids() const noexcept { return ids_; }
  RowStatus* status() const noexcept { return status_; }
  std::byte* values() const noexcept { return values_; }

  /// Makes room for so many bytes of values, in one-off memory if need be.
  Result<void> reserve(std::uint64_t bytes) {
    if (bytes <= capacity_) return {};
    if (rules_.oversize == Oversize::fail) return too_large(bytes);
    Result<std::shared_ptr<SlotLease>> larger =
        ring_.spill(step_.lease, layout_.values + std::max(bytes, 2 * capacity_));
    if (!larger.has_value()) return larger.error();
    const std::span<const std::byte> filled =
        step_.lease->bytes().first(layout_.values + static_cast<std::size_t>(step_.value_bytes));
    std::memcpy((*larger)->bytes().data(), filled.data(), filled.size());
    step_.lease = std::move(*larger);
    point_to(step_.lease->bytes());
    return {};
  }

 private:
  void point_to(std::span<std::byte> bytes) {
    offsets_ = reinterpret_cast<std::int64_t*>(bytes.data() + layout_.offsets);
    ids_ = reinterpret_cast<std::uint64_t*>(bytes.data() + layout_.ids);
    status_ = reinterpret_cast<RowStatus*>(bytes.data() + layout_.status);
    values_ = bytes.data() + layout_.values;
    capacity_ = bytes.size() - layout_.values;
  }

  Error too_large(std::uint64_t bytes) const {
    std::uint64_t largest_id = kNoId;
    std::size_t largest_bytes = 0;
    const Unit& unit = step_.units[step_.next_unit];
    for (std::uint32_t r = unit.first_row; r < unit.end_row; ++r) {
      const PlannedRow& row = step_.rows[r];
      if (row.extent == nullptr || row.extent->damaged(row.block)) continue;
      const std::size_t size = row.extent->records[row.block][row.record].size();
      if (size > largest_bytes || largest_id == kNoId) {
        largest_bytes = size;
        largest_id = row.id;
      }
    }
    return Error(Errc::batch_too_large,
                 "step " + std::to_string(step_.number) + " of epoch " + std::to_string(step_.epoch_number) +
                     " needs at least " + std::to_string(bytes) + " bytes for its rows, a slot has " +
                     std::to_string(capacity_) + "; its largest record is id " + std::to_string(largest_id) + " with " +
                     std::to_string(largest_bytes) + " bytes: raise memory_bytes, lower the batch, or let it spill");
  }

  Step& step_;
  SlotRing& ring_;
  const GatherRules& rules_;
  SlabLayout layout_;
  std::int64_t* offsets_ = nullptr;
  std::uint64_t* ids_ = nullptr;
  RowStatus* status_ = nullptr;
  std::byte* values_ = nullptr;
  std::uint64_t capacity_ = 0;
};

Error damage_at_step(const Error& damage, const Step& step, const PlannedRow& row, const GatherRules& rules) {
  const Extent& extent = *row.extent;
  const std::uint64_t block = extent.first_block + row.block;
  const std::string text = damage.detail() + (damage.detail().empty() ? "" : "; ") + "records [" +
                           std::to_string(extent.file->first_record(block)) + ", " +
                           std::to_string(extent.file->first_record(block + 1)) + ") of the shard, needed by rank " +
                           std::to_string(rules.rank) + " at step " + std::to_string(step.number) + " of epoch " +
                           std::to_string(step.epoch_number);
  return Error(damage.code(), text).at(damage.path(), damage.offset().value_or(extent.file_offset));
}

/// Fills the rows of damaged records from their nearest good neighbours. Damage is rare, so this may allocate and copy.
Result<void> substitute_rows(Step& step, Slab& slab, const GatherRules& rules) {
  const auto rows = static_cast<std::uint32_t>(step.rows.size());
  const auto good = [&](std::uint32_t r) {
    return slab.status()[r] == RowStatus::first || slab.status()[r] == RowStatus::repeated;
  };
  std::vector<std::uint32_t> source(rows);
  std::uint64_t total = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    source[r] = r;
    if (slab.status()[r] == RowStatus::damaged_empty) {
      const std::uint32_t lane_begin = r / rules.rows_per_lane * rules.rows_per_lane;
      const std::uint32_t lane_end = lane_begin + rules.rows_per_lane;
      std::uint32_t before = r;
      while (before > lane_begin && !good(before)) --before;
      std::uint32_t after = r;
      while (after < lane_end && !good(after)) ++after;
      if (good(before)) {
        source[r] = before;
      } else if (after < lane_end) {
        source[r] = after;
      }
    }
    total += static_cast<std::uint64_t>(slab.offsets()[source[r] + 1] - slab.offsets()[source[r]]);
  }
  if (Result<void> room = slab.reserve(total); !room.has_value()) return room;

  const std::vector<std::int64_t> old(slab.offsets(), slab.offsets() + rows + 1);
  const std::vector<std::byte> packed(slab.values(), slab.values() + old[rows]);
  std::int64_t end = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint32_t from = source[r];
    const auto bytes = static_cast<std::size_t>(old[from + 1] - old[from]);
    std::copy_n(packed.data() + old[from], bytes, slab.values() + end);
    end += static_cast<std::int64_t>(bytes);
    slab.offsets()[r + 1] = end;
    if (from != r) slab.status()[r] = RowStatus::substituted;
  }
  step.value_bytes = end;
  return {};
}

Result<void> copy_rows(Step& step, Slab& slab, const GatherRules& rules) {
  const Unit& unit = step.units[step.next_unit];
  std::int64_t end = step.value_bytes;
  for (std::uint32_t r = unit.first_row; r < unit.end_row; ++r) {
    const PlannedRow& row = step.rows[r];
    RowStatus status = row.status;
    if (row.extent != nullptr) {
      if (row.extent->damaged(row.block)) {
        if (rules.on_damage == OnDamage::fail) {
          return damage_at_step(*row.extent->damage[row.block], step, row, rules);
        }
        status = RowStatus::damaged_empty;
      } else {
        const ByteView record = row.extent->records[row.block][row.record];
        step.value_bytes = end;
        if (Result<void> room = slab.reserve(static_cast<std::uint64_t>(end) + record.size()); !room.has_value()) {
          return room;
        }
        if (!record.empty()) std::memcpy(slab.values() + end, record.data(), record.size());
        end += static_cast<std::int64_t>(record.size());
      }
    }
    slab.offsets()[r + 1] = end;
    slab.ids()[r] = row.id;
    slab.status()[r] = status;
  }
  step.value_bytes = end;
  return {};
}

}  // namespace

void gather_next_unit(Step& step, SlotRing& ring, const GatherRules& rules) {
  Slab slab(step, ring, rules);
  if (step.next_unit == 0) slab.offsets()[0] = 0;
  if (Result<void> copied = copy_rows(step, slab, rules); !copied.has_value()) {
    step.error = copied.error();
    return;
  }
  if (step.next_unit + 1 < step.units.size()) return;
  const auto rows = static_cast<std::uint32_t>(step.rows.size());
  if (rules.on_damage == OnDamage::substitute &&
      std::find(slab.status(), slab.status() + rows, RowStatus::damaged_empty) != slab.status() + rows) {
    if (Result<void> filled = substitute_rows(step, slab, rules); !filled.has_value()) {
      step.error = filled.error();
      return;
    }
  }
  for (std::uint32_t r = 0; r < rows; ++r) ++step.status_counts[static_cast<std::size_t>(slab.status()[r])];
}

}  // namespace dovetail::detail
