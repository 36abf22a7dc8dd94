// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/planner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "reader/fetch/shortage.h"
#include "reader/fill/step_errors.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kSpareSteps = 64;  // where there are fewer slots

}  // namespace

Planner::Planner(const Settings& settings, ShardTable& shards)
    : dataset_(settings.dataset),
      plan_(settings.plan),
      options_(settings.options),
      rules_(settings.extents),
      rows_per_lane_(
          static_cast<std::uint32_t>(std::uint64_t{plan_.readers()} * plan_.options().batch / plan_.lanes())),
      max_open_shards_(settings.max_open_shards),
      rows_at_once_(settings.rows_at_once),
      batches_per_step_(settings.batches_per_step),
      slab_bytes_(settings.slab_bytes),
      scatter_into_(settings.scatter_into),
      shards_(shards),
      residency_(settings.read_ahead_bytes, settings.scatter_into != nullptr),
      next_epoch_(options_.start.epoch),
      first_step_(options_.start.step) {}

Planner::~Planner() = default;

Planner::Outcome Planner::plan(bool cold, std::vector<std::unique_ptr<Step>>& out) {
  cold_ = cold;
  const std::uint64_t until = rows_ + rows_at_once_;
  Outcome outcome = Outcome::more;
  do {
    outcome = plan_step(out);
    // Runs keep their shards open until they are planned to their end and gathered.
  } while (outcome == Outcome::more && rows_ < until && shards_.live() < max_open_shards_ &&
           (scatter_into_ == nullptr || scatter_into_->has_free()));
  seal_loads(outcome == Outcome::all);
  return outcome;
}

void Planner::seal() {
  seal_loads(true);
}

void Planner::seal_loads(bool all) {
  for (; !unsealed_.empty() && (all || unsealed_.front()->used_up); unsealed_.pop_front()) {
    Load& load = *unsealed_.front();
    load.sealed = true;
    load.complete = load.used_up && !load.destinations.empty();
    if (load.used_up) continue;  // its run may have gone with it
    RunEntry& user = *load.extent.user;
    if (user.extent == &load.extent) user.destinations = nullptr;
  }
}

Planner::Outcome Planner::plan_step(std::vector<std::unique_ptr<Step>>& out) {
  if (all_) return Outcome::all;
  if (step_ == nullptr && !begin_step()) return Outcome::all;
  if (!step_->done && !plan_rows()) return Outcome::blocked;
  out.push_back(std::move(step_));
  if (failed_ != nullptr) out.push_back(std::move(failed_));
  return all_ ? Outcome::all : Outcome::more;
}

bool Planner::begin_step() {
  step_ = new_step();
  if (epoch_ == nullptr) {
    if (last_epoch_ || (options_.epochs != 0 && next_epoch_ - options_.start.epoch == options_.epochs)) {
      all_ = true;
      step_.reset();
      return false;
    }
    if (Result<void> begun = begin_epoch(); !begun.has_value()) {
      stop_at(begun.error());
      return true;
    }
  }
  step_->origin = epoch_->origin;
  step_->epoch = epoch_->plan.epoch();
  if (epoch_->next_step == epoch_->plan.steps()) {
    end_epoch();
    return true;
  }
  if (epoch_->fetched_steps == 0) {
    const std::uint64_t together = std::uint64_t{plan_.options().batch} * batches_per_step_;
    const std::uint64_t wanted = std::max<std::uint64_t>(1, rows_at_once_ / together) * batches_per_step_;
    epoch_->fetched_steps = std::min(wanted, epoch_->plan.steps() - epoch_->next_step);
    for (LaneFeed& lane : epoch_->lanes) {
      lane.fetch(static_cast<std::size_t>(epoch_->fetched_steps * rows_per_lane_), shards_, cold_ ? &coming_ : nullptr);
    }
  }
  const std::uint64_t batches = std::min<std::uint64_t>(batches_per_step_, epoch_->fetched_steps);
  step_->number = epoch_->next_step;
  step_->batch_rows = plan_.options().batch;
  step_->row_count = static_cast<std::uint32_t>(batches * step_->batch_rows);
  step_->slab_bytes = slab_bytes_;
  epoch_->fetched_steps -= batches;
  epoch_->next_step += batches;
  return true;
}

std::unique_ptr<Step> Planner::new_step() {
  if (spare_.empty()) return std::make_unique<Step>();
  std::unique_ptr<Step> step = std::move(spare_.back());
  spare_.pop_back();
  step->reset();
  return step;
}

Result<void> Planner::begin_epoch() {
  // What was not there may be back, as a damaged block may be good when it is read again.
  shards_.forget_failures();
  Result<EpochPlan> plan = plan_.epoch(next_epoch_);
  if (!plan.has_value()) return plan.error();
  const std::uint64_t first_step = std::max(std::exchange(first_step_, 0), plan->first_step());
  Result<State> origin = plan_.state({next_epoch_, plan->first_step()});
  if (!origin.has_value()) return origin.error();
  std::vector<LaneFeed> lanes;
  const std::uint32_t first_lane = plan->first_lane(options_.ranks.rank);
  for (std::uint32_t lane = 0; lane < plan->lanes_per_rank(); ++lane) {
    lanes.emplace_back(plan->lane(first_lane + lane), plan->first_output(first_step), 2 * plan_.options().open_runs,
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

void Planner::end_epoch() {
  // Records that the epoch drops may have shared extents with others.
  Unit& unit = step_->units.emplace_back();
  unit.loads_before = residency_.loads();
  while (!residency_.extents().empty()) {
    Extent& extent = *residency_.extents().back();
    unit.ended.emplace_back();  // first what may fail: a load may be in work already
    unit.ended.back() = residency_.end(extent);
    residency_.release(extent.load_cost());
  }
  for (LaneFeed& lane : epoch_->lanes) lane.take_all(unit.runs);
  epoch_.reset();
  step_->end_of_epoch = true;
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

bool Planner::ends_step() const {
  // What is laid out waits for many later rows anyway, and its slots should be full.
  return shards_.live() >= max_open_shards_ || (!step_->laid_out && shards_.opening());
}

void Planner::mark_batch() {
  const Unit& unit = step_->units.back();
  at_batch_ = {.ended = unit.ended.size(), .runs = unit.runs.size(), .ended_cost = ended_cost_};
}

void Planner::begin_unit_with_batch() {
  const std::uint32_t begin = planned_ / step_->batch_rows * step_->batch_rows;
  if (begin <= step_->units.back().first_row) return;
  Unit& next = step_->units.emplace_back();
  Unit& open = *std::prev(step_->units.end(), 2);
  next.ended.reserve(open.ended.size() - at_batch_.ended + 1);
  next.runs.reserve(open.runs.size() - at_batch_.runs + 1);
  const auto ended = open.ended.begin() + static_cast<std::ptrdiff_t>(at_batch_.ended);
  const auto runs = open.runs.begin() + static_cast<std::ptrdiff_t>(at_batch_.runs);
  std::move(ended, open.ended.end(), std::back_inserter(next.ended));
  std::move(runs, open.runs.end(), std::back_inserter(next.runs));
  open.ended.erase(ended, open.ended.end());
  open.runs.erase(runs, open.runs.end());
  open.end_row = next.first_row = begin;
  open.loads_before = residency_.loads();
  unit_row_ = rows_ - (planned_ - begin);
  residency_.release(at_batch_.ended_cost);
  ended_cost_ -= at_batch_.ended_cost;
  at_batch_ = {};
}

bool Planner::plan_rows() {
  if (step_->end_of_epoch) return true;
  if (step_->units.empty()) {
    planned_ = 0;
    begin_rows();
    open_unit();
  }
  while (planned_ < step_->row_count) {
    if (planned_ % step_->batch_rows == 0) {
      if (planned_ > 0 && ends_step()) {
        const std::uint64_t rest = (step_->row_count - planned_) / step_->batch_rows;
        epoch_->fetched_steps += rest;
        epoch_->next_step -= rest;
        cut_step(planned_ / step_->batch_rows);
        return true;
      }
      mark_batch();
    }
    LaneFeed& lane = epoch_->lanes[planned_ % step_->batch_rows / rows_per_lane_];
    const std::uint32_t lane_end = planned_ / rows_per_lane_ * rows_per_lane_ + rows_per_lane_;
    const bool planned = step_->laid_out ? lay_out_lane(lane, lane_end) : plan_lane(lane, lane_end);
    lane.take_planned(planned_runs_, step_->units.back().runs);
    planned_runs_.clear();
    if (all_) return true;
    if (!planned) return false;
    if (step_->laid_out && planned_ % step_->batch_rows == 0) {
      end_batch();
      if (planned_ < step_->row_count) begin_batch();
    }
  }
  close_unit();
  return true;
}

bool Planner::move_to(RunWindow& window, RunEntry& entry, std::uint64_t record) {
  if (!entry.resolved && !window.resolve(entry, shards_)) return false;
  return turn_to(entry, record);
}

void Planner::end_of(RunEntry& entry, std::uint64_t run) {
  Extent& extent = *entry.extent;
  ended_cost_ += extent.load_cost();
  std::vector<std::unique_ptr<Load>>& ended = step_->units.back().ended;
  ended.emplace_back();
  ended.back() = residency_.end(extent);
  entry.unplanned -= extent.picks;
  if (entry.unplanned == 0) planned_runs_.push_back(run);
}

bool Planner::turn_to(RunEntry& entry, std::uint64_t record) {
  if (entry.file == nullptr) return lose(entry.run.shard);
  if (cold_) entry.list(entry.file, coming_);
  entry.turn_to(record);
  if (entry.extent->direct || entry.block != nullptr) return true;
  if (!bring_in(*entry.extent)) return false;
  entry.turn_to(record);
  return true;
}

bool Planner::bring_in(Extent& extent) {
  begin_unit_with_batch();
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
  Load& load = residency_.begin(extent);
  step_->loads.push_back(&load);
  if (scatter_into_ == nullptr) {
    load.sealed = true;
  } else {
    unsealed_.push_back(&load);
  }
  step_->units.back().load_bytes += cost;
  return true;
}

bool Planner::lose(std::uint32_t shard) {
  const Error failure = shards_.failure(shard);
  if (options_.on_damage == OnDamage::fail || is_shortage(failure)) {
    const std::uint64_t step = step_->number + planned_ / step_->batch_rows;
    stop_at(needed_at_step(failure, 0, shards_.records(shard), options_.ranks.rank, step, step_->epoch));
    return false;
  }
  if (lost_shards_.insert(shard).second) newly_lost_.push_back(shard);
  return true;
}

void Planner::stop_at(Error error) {
  all_ = true;
  const std::uint32_t good = step_->units.empty() ? 0 : planned_ / step_->batch_rows;
  if (good == 0) {
    step_->error = std::move(error);
    step_->done = true;
    return;
  }
  failed_ = new_step();
  failed_->error = std::move(error);
  failed_->done = true;
  cut_step(good);
}

void Planner::cut_step(std::uint32_t batches) {
  close_unit();
  step_->row_count = batches * step_->batch_rows;
  // Units that the batches do not reach stay, with no rows: loads begin and end with them.
  for (Unit& unit : step_->units) {
    unit.first_row = std::min(unit.first_row, step_->row_count);
    unit.end_row = std::min(unit.end_row, step_->row_count);
  }
}

std::vector<Coming> Planner::take_coming() {
  return std::exchange(coming_, {});
}

void Planner::reuse(std::vector<std::unique_ptr<Step>>& steps) {
  const std::size_t most = scatter_into_ == nullptr ? kSpareSteps : scatter_into_->slots();
  for (std::unique_ptr<Step>& step : steps) {
    if (spare_.size() < most) spare_.push_back(std::move(step));
  }
  steps.clear();
}

std::vector<std::uint32_t> Planner::take_lost_shards() {
  return std::exchange(newly_lost_, {});
}

}  // namespace dovetail::detail
