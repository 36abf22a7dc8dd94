// SPDX-License-Identifier: Apache-2.0
// The rows of a step: what planning does for each of them.
#include <cstddef>
#include <cstdint>

#include "reader/delivery/planner.h"
#include "reader/delivery/streaming_copy.h"

namespace dovetail::detail {

void Planner::begin_rows() {
  if (scatter_into_ == nullptr) {
    if (step_->rows.size() < step_->row_count) step_->rows.resize(step_->row_count);
    return;
  }
  step_->laid_out = true;
  step_->lease = scatter_into_->acquire();
  laid_out_.resize(step_->batch_rows);
  ids_.resize(step_->batch_rows);
  begin_batch();
}

void Planner::begin_batch() {
  const std::byte* const values = parts_of(*step_, planned_ / step_->batch_rows).values;
  values_at_ = static_cast<std::uint32_t>(values - scatter_into_->bytes().data());
  value_bytes_ = 0;
}

void Planner::end_batch() {
  const std::uint32_t batch = planned_ / step_->batch_rows - 1;
  const SlabParts slab = parts_of(*step_, batch);
  // It is long until the trainer reads them.
  streaming_copy(reinterpret_cast<std::byte*>(slab.ids), reinterpret_cast<const std::byte*>(ids_.data()),
                 ids_.size() * sizeof(ids_[0]));
  end_streaming();
  slab.offsets[0] = 0;
  for (std::uint32_t row = 0; row < step_->batch_rows; ++row) {
    slab.offsets[row + 1] = laid_out_[row].end;
    slab.status[row] = laid_out_[row].status;
  }
}

bool Planner::plan_lane(LaneFeed& lane, std::uint32_t end) {
  // Copies in registers: the stores below could change anything else, as far as the compiler knows.
  const Pick* pick = lane.picks().data();
  PlannedRow* out = step_->rows.data() + planned_;
  std::uint64_t row = rows_;
  const std::uint64_t end_row = row + (end - planned_);
  for (; row < end_row; ++row, ++pick, ++out) {
    if (!pick->planned()) {
      *out = {};
      continue;
    }
    RunWindow& window = lane.window_of(*pick);
    RunEntry& entry = window.entry(pick->run);
    if (!entry.is_at(pick->record)) {
      planned_to(row, lane);
      if (!move_to(window, entry, pick->record)) return false;
    }
    if (entry.block == nullptr) {
      *out = plan_blockless(entry, *pick);
      continue;
    }
    out->block = entry.block;
    out->record = static_cast<std::uint32_t>(pick->record - entry.block_first);
    out->status = entry.status;
    if (entry.plan_row(row)) end_of(entry, pick->run);
  }
  planned_to(row, lane);
  return true;
}

PlannedRow Planner::plan_blockless(RunEntry& entry, const Pick& pick) {
  PlannedRow row{.record = static_cast<std::uint32_t>(step_->blockless.size()), .status = damaged_empty(entry.status)};
  step_->blockless.push_back({.id = entry.first_id + pick.record, .direct = entry.extent});
  if (entry.extent != nullptr) {
    row.status = entry.status;
    step_->units.back().direct_bytes += entry.extent->record_bytes();
  }
  if (--entry.unplanned == 0) planned_runs_.push_back(pick.run);
  return row;
}

bool Planner::lay_out_lane(LaneFeed& lane, std::uint32_t end) {
  // Copies in registers: the stores below could change anything else, as far as the compiler knows.
  const Pick* pick = lane.picks().data();
  std::uint64_t* id = ids_.data() + planned_ % step_->batch_rows;
  LaidOutRow* out = laid_out_.data() + planned_ % step_->batch_rows;
  std::uint32_t place = values_at_ + value_bytes_;
  std::uint64_t row = rows_;
  const std::uint64_t end_row = row + (end - planned_);
  const auto keep = [&] {
    planned_to(row, lane);
    value_bytes_ = place - values_at_;
  };
  for (; row < end_row; ++row, ++pick, ++id, ++out) {
    RowStatus status = RowStatus::empty;
    *id = kNoId;
    if (pick->planned()) {
      RunWindow& window = lane.window_of(*pick);
      RunEntry& entry = window.entry(pick->run);
      if (!entry.is_at(pick->record)) {
        keep();
        if (!move_to(window, entry, pick->record)) return false;
      }
      *id = entry.first_id + pick->record;
      status = entry.status;
      if (entry.block == nullptr) {
        status = damaged_empty(status);
        step_->misses_rows = true;
        if (--entry.unplanned == 0) planned_runs_.push_back(pick->run);
      } else {
        const auto in_block = static_cast<std::uint32_t>(pick->record - entry.block_first);
        if (entry.destinations != nullptr) {
          entry.destinations[in_block] = place;
        } else {
          const auto in_step = planned_ + static_cast<std::uint32_t>(row - rows_);
          step_->late.push_back({.block = entry.block, .record = in_block, .row = in_step});
        }
        place += entry.record_bytes;
        if (entry.plan_row(row)) end_of(entry, pick->run);
      }
    }
    *out = {.end = place - values_at_, .status = status};
  }
  keep();
  return true;
}

void Planner::planned_to(std::uint64_t row, LaneFeed& lane) {
  const auto rows = static_cast<std::uint32_t>(row - rows_);
  lane.advance(rows);
  planned_ += rows;
  rows_ = row;
}

}  // namespace dovetail::detail
