// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/planner.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace dovetail::detail {

namespace {

constexpr std::size_t kSpareSteps = 64;

/// Whether a shard could not be opened for reasons that lie with this process, not with the shard.
bool is_shortage(const Error& error) {
  namespace errc = boost::system::errc;
  return error.code() == errc::too_many_files_open || error.code() == errc::too_many_files_open_in_system ||
         error.code() == errc::not_enough_memory;
}

}  // namespace

Planner::Planner(const Settings& settings, ShardTable& shards)
    : dataset_(settings.dataset),
      plan_(settings.plan),
      options_(settings.options),
      rules_(settings.extents),
      rows_per_lane_(
          static_cast<std::uint32_t>(std::uint64_t{plan_.readers()} * plan_.options().batch / plan_.lanes())),
      max_open_shards_(settings.max_open_shards),
      shards_(shards),
      residency_(settings.read_ahead_bytes),
      next_epoch_(options_.start.epoch),
      first_step_(options_.start.step) {}

Planner::~Planner() = default;

Planner::Outcome Planner::plan(bool cold, std::vector<std::unique_ptr<Step>>& out) {
  cold_ = cold;
  const std::uint64_t until = rows_ + kRowsAtOnce;
  do {
    const Outcome outcome = plan_step(out);
    if (outcome != Outcome::more) return outcome;
    // Runs keep their shards open until they are planned to their end and gathered.
  } while (rows_ < until && shards_.live() < max_open_shards_);
  return Outcome::more;
}

Planner::Outcome Planner::plan_step(std::vector<std::unique_ptr<Step>>& out) {
  if (all_) return Outcome::all;
  if (step_ == nullptr) step_ = begin_step();
  if (step_ == nullptr) return Outcome::all;
  if (!step_->done && !plan_rows()) return Outcome::blocked;
  out.push_back(std::move(step_));
  return all_ ? Outcome::all : Outcome::more;
}

std::unique_ptr<Step> Planner::begin_step() {
  std::unique_ptr<Step> step = new_step();
  if (epoch_ == nullptr) {
    if (last_epoch_ || (options_.epochs != 0 && next_epoch_ - options_.start.epoch == options_.epochs)) {
      all_ = true;
      return nullptr;
    }
    if (Result<void> begun = begin_epoch(); !begun.has_value()) {
      step->error = begun.error();
      step->done = true;
      all_ = true;
      return step;
    }
  }
  step->origin = epoch_->origin;
  step->epoch = epoch_->plan.epoch();
  if (epoch_->next_step == epoch_->plan.steps()) {
    end_epoch(*step);
    return step;
  }
  if (epoch_->fetched_steps == 0) {
    const std::uint64_t wanted = std::max<std::uint64_t>(1, kRowsAtOnce / plan_.options().batch);
    epoch_->fetched_steps = std::min(wanted, epoch_->plan.steps() - epoch_->next_step);
    for (LaneFeed& lane : epoch_->lanes) {
      lane.fetch(static_cast<std::size_t>(epoch_->fetched_steps * rows_per_lane_), shards_);
    }
  }
  --epoch_->fetched_steps;
  step->number = epoch_->next_step++;
  return step;
}

std::unique_ptr<Step> Planner::new_step() {
  if (spare_.empty()) return std::make_unique<Step>();
  std::unique_ptr<Step> step = std::move(spare_.back());
  spare_.pop_back();
  step->reset();
  return step;
}

Result<void> Planner::begin_epoch() {
  Result<EpochPlan> plan = plan_.epoch(next_epoch_);
  if (!plan.has_value()) return plan.error();
  const std::uint64_t first_step = std::max(std::exchange(first_step_, 0), plan->first_step());
  Result<State> origin = plan_.state({next_epoch_, plan->first_step()});
  if (!origin.has_value()) return origin.error();
  std::vector<LaneFeed> lanes;
  const std::uint32_t first_lane = plan->first_lane(options_.ranks.rank);
  for (std::uint32_t lane = 0; lane < plan->lanes_per_rank(); ++lane) {
    lanes.emplace_back(plan->lane(first_lane + lane), plan->first_output(first_step), plan_.options().open_runs,
                       rules_);
  }
  epoch_ = std::make_unique<Epoch>(Epoch{.plan = std::move(*plan),
                                         .lanes = std::move(lanes),
                                         .origin = std::make_shared<const State>(std::move(*origin)),
                                         .next_step = first_step});
  last_epoch_ = next_epoch_ == std::numeric_limits<std::uint32_t>::max();
  ++next_epoch_;
  return {};
}

void Planner::end_epoch(Step& step) {
  // Records that the epoch drops may have shared extents with others.
  Unit& unit = step.units.emplace_back();
  unit.loads_before = residency_.loads();
  while (!residency_.extents().empty()) {
    Extent& extent = *residency_.extents().back();
    unit.ended.push_back(residency_.end(extent));
    residency_.release(extent.load_cost());
  }
  for (LaneFeed& lane : epoch_->lanes) lane.take_all(unit.runs);
  epoch_.reset();
  step.end_of_epoch = true;
}

void Planner::open_unit() {
  Unit& unit = step_->units.emplace_back();
  unit.first_row = planned_;
  unit_row_ = rows_;
}

void Planner::close_unit() {
  Unit& unit = step_->units.back();
  unit.end_row = planned_;
  unit.loads_before = residency_.loads();
  residency_.release(std::exchange(ended_cost_, 0));
}

bool Planner::plan_rows() {
  if (step_->end_of_epoch) return true;
  if (step_->units.empty()) {
    planned_ = 0;
    step_->rows.resize(plan_.options().batch);
    open_unit();
  }
  while (planned_ < step_->rows.size()) {
    LaneFeed& lane = epoch_->lanes[planned_ / rows_per_lane_];
    const std::uint32_t lane_end = planned_ / rows_per_lane_ * rows_per_lane_ + rows_per_lane_;
    const bool planned = plan_lane(lane, lane_end);
    lane.take_planned(planned_runs_, step_->units.back().runs);
    planned_runs_.clear();
    if (step_->done) return true;
    if (!planned) return false;
  }
  close_unit();
  return true;
}

bool Planner::plan_lane(LaneFeed& lane, std::uint32_t end) {
  while (planned_ < end) {
    const Pick pick = lane.picks().front();
    if (pick.planned()) {
      RunWindow& window = lane.window_of(pick);
      RunEntry& entry = window.entry(pick.run);
      if (entry.block == nullptr || pick.record - entry.block_first >= entry.block_records) {
        if (!entry.resolved && !window.resolve(entry, shards_)) return false;
        if (!turn_to(entry, pick.record)) return false;
      }
      plan_row(entry, pick.record, step_->rows[planned_]);
      if (--entry.unplanned == 0) planned_runs_.push_back(pick.run);
    }
    lane.advance();
    ++planned_;
    ++rows_;
  }
  return true;
}

inline void Planner::plan_row(RunEntry& entry, std::uint64_t record, PlannedRow& row) {
  row.id = entry.first_id + record;
  if (entry.extent == nullptr) {
    row.status = RowStatus::damaged_empty;
    return;
  }
  row.status = entry.status;
  Extent& extent = *entry.extent;
  if (extent.direct) {
    row.direct = &extent;
    step_->units.back().direct_bytes += extent.record_bytes();
    return;
  }
  row.block = entry.block;
  row.record = static_cast<std::uint32_t>(record - entry.block_first);
  extent.last_row = rows_;
  if (--extent.unplanned == 0) end_of(extent);
}

void Planner::end_of(Extent& extent) {
  ended_cost_ += extent.load_cost();
  step_->units.back().ended.push_back(residency_.end(extent));
}

bool Planner::turn_to(RunEntry& entry, std::uint64_t record) {
  if (entry.file == nullptr) return lose(entry.run.shard);
  if (cold_ && !entry.listed) list_coming(entry);
  entry.turn_to(record);
  if (entry.extent->direct || entry.block != nullptr) return true;
  if (!bring_in(*entry.extent)) return false;
  entry.turn_to(record);
  return true;
}

bool Planner::bring_in(Extent& extent) {
  const std::uint64_t cost = extent.load_cost();
  if (!residency_.fits(cost) && !residency_.make_room(cost, unit_row_, step_->units.back().evicted)) {
    // What the unit's own rows use may go as well once they are gathered.
    if (rows_ > unit_row_) {
      close_unit();
      open_unit();
      residency_.make_room(cost, unit_row_, step_->units.back().evicted);
    }
    if (!residency_.fits(cost)) {
      stop_at(Error(Errc::budget_too_small, "one block needs " + std::to_string(cost) +
                                                " bytes of read-ahead beside the slots, and " +
                                                std::to_string(residency_.budget()) + " are left: raise memory_bytes")
                  .at(extent.file->file().path(), extent.file_offset));
      return false;
    }
  }
  step_->loads.push_back(&residency_.begin(extent));
  step_->units.back().load_bytes += cost;
  return true;
}

bool Planner::lose(std::uint32_t shard) {
  const Error failure = shards_.failure(shard);
  if (options_.on_damage == OnDamage::fail || is_shortage(failure)) {
    stop_at(failure);
    return false;
  }
  if (lost_shards_.insert(shard).second) newly_lost_.push_back(shard);
  return true;
}

void Planner::stop_at(Error error) {
  step_->error = std::move(error);
  step_->done = true;
  all_ = true;
}

void Planner::list_coming(RunEntry& entry) {
  entry.listed = true;
  const Extent& first = entry.blocks.extents.front();
  const Extent& last = entry.blocks.extents.back();
  coming_.push_back({.file = entry.file,
                     .offset = first.file_offset,
                     .bytes = last.file_offset + last.stored_bytes - first.file_offset});
}

std::vector<Coming> Planner::take_coming() {
  return std::exchange(coming_, {});
}

void Planner::reuse(std::vector<std::unique_ptr<Step>>& steps) {
  for (std::unique_ptr<Step>& step : steps) {
    if (spare_.size() < kSpareSteps) spare_.push_back(std::move(step));
  }
  steps.clear();
}

std::vector<std::uint32_t> Planner::take_lost_shards() {
  return std::exchange(newly_lost_, {});
}

}  // namespace dovetail::detail
