// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "reader/delivery/engine.h"

namespace dovetail::detail {

namespace {

/// How far the plan runs ahead of the trainer at most; the budget in bytes usually ends it earlier. Enough rows that
/// the next group of runs is on its way before the present one ends, also when records are tiny.
constexpr std::uint64_t kMaxRowsAhead = 64 * 1024;
constexpr std::size_t kMinStepsAhead = 8;
constexpr std::size_t kMaxStepsAhead = 512;

/// Whether a shard could not be opened for reasons that lie with this process, not with the shard.
bool is_shortage(const Error& error) {
  namespace errc = boost::system::errc;
  return error.code() == errc::too_many_files_open || error.code() == errc::too_many_files_open_in_system ||
         error.code() == errc::not_enough_memory;
}

}  // namespace

void Engine::plan_more() {
  while (!failed_ && !planned_all_) {
    if (planned_ == nullptr) {
      if (!admit_pending()) return;
      if (steps_.size() >= (rows_ahead_ >= kMaxRowsAhead ? kMinStepsAhead : kMaxStepsAhead)) return;
      // Runs keep their shards open until they are planned to their end.
      if (!steps_.empty() && shards_.live() >= max_live_shards_) return;
      planned_ = begin_step();
      if (planned_ == nullptr) return;
    }
    if (!planned_->done && !resolve(*planned_)) return;
    if (!planned_->done) plan_rows(*planned_);
    rows_ahead_ += planned_->rows.size();
    steps_.push_back(std::move(planned_));
  }
  if (!failed_) admit_pending();
}

std::unique_ptr<Step> Engine::begin_step() {
  auto step = std::make_unique<Step>();
  if (epoch_ == nullptr) {
    if (planned_last_epoch_ || (options_.epochs != 0 && next_epoch_ - options_.start.epoch == options_.epochs)) {
      planned_all_ = true;
      return nullptr;
    }
    if (Result<void> begun = begin_epoch(); !begun.has_value()) {
      step->error = begun.error();
      step->done = true;
      planned_all_ = true;
      return step;
    }
  }
  step->epoch = epoch_;
  step->epoch_number = epoch_->plan().epoch();
  if (epoch_->ended()) {
    step->end_of_epoch = true;
    step->done = true;
    epoch_.reset();
    return step;
  }
  resolved_rows_ = 0;
  step->number = epoch_->take_step();
  picks_.resize(plan_.options().batch);
  std::span<Pick> rest(picks_);
  for (LaneFeed& lane : epoch_->lanes()) {
    lane.next(rest.first(rules_.rows_per_lane));
    rest = rest.subspan(rules_.rows_per_lane);
    lane.look_ahead(shards_);
  }
  return step;
}

Result<void> Engine::begin_epoch() {
  Result<EpochPlan> plan = plan_.epoch(next_epoch_);
  if (!plan.has_value()) return plan.error();
  const std::uint64_t first_step = std::max(std::exchange(first_step_, 0), plan->first_step());
  Result<State> origin = plan_.state({next_epoch_, plan->first_step()});
  if (!origin.has_value()) return origin.error();
  std::vector<LaneFeed> lanes;
  const std::uint32_t first_lane = plan->first_lane(options_.ranks.rank);
  for (std::uint32_t lane = 0; lane < plan->lanes_per_rank(); ++lane) {
    lanes.emplace_back(plan->lane(first_lane + lane), plan->first_output(first_step), plan_.options().open_runs,
                       extent_bytes_);
  }
  epoch_ = std::make_shared<EpochFeed>(std::move(*plan), std::move(lanes), first_step,
                                       std::make_shared<const State>(std::move(*origin)));
  planned_last_epoch_ = next_epoch_ == std::numeric_limits<std::uint32_t>::max();
  ++next_epoch_;
  return {};
}

bool Engine::resolve(const Step& step) {
  for (std::size_t row = resolved_rows_; row < picks_.size(); ++row) {
    const bool resolved = step.epoch->lanes()[row / rules_.rows_per_lane].resolve(picks_[row], shards_);
    if (resolved && row == resolved_rows_) ++resolved_rows_;
  }
  return resolved_rows_ == picks_.size();
}

void Engine::plan_rows(Step& step) {
  step.rows.reserve(picks_.size());
  for (std::size_t row = 0; row < picks_.size(); ++row) {
    LaneFeed& lane = step.epoch->lanes()[row / rules_.rows_per_lane];
    step.rows.push_back(lane.plan_row(picks_[row]));
    if (step.rows.back().status != RowStatus::damaged_empty) continue;
    const std::uint32_t shard = dataset_.locate(step.rows.back().id).shard;
    const Error& failure = *shards_.failure(shard);
    if (options_.on_damage == OnDamage::fail || is_shortage(failure)) {
      // Nothing is planned behind it, and its runs are kept: extents in memory may belong to them.
      step.error = failure;
      step.done = true;
      planned_all_ = true;
      return;
    }
    note_lost_shard(shard);
  }
  cut_units(step);
  for (LaneFeed& lane : step.epoch->lanes()) lane.forget_used_up();
}

void Engine::cut_units(Step& step) {
  const std::uint64_t limit = buffers_.budget() / 2;
  std::uint64_t cost = 0;
  const auto open_unit = [&](std::uint32_t row) {
    if (!step.units.empty()) step.units.back().end_row = row;
    step.units.emplace_back();
    step.units.back().step = &step;
    step.units.back().first_row = row;
    ++unit_marks_;
    cost = 0;
  };
  open_unit(0);
  for (std::uint32_t row = 0; row < step.rows.size(); ++row) {
    Extent* const extent = step.rows[row].extent;
    if (extent == nullptr) continue;
    if (extent->marked_by != unit_marks_) {
      if (!step.units.back().uses.empty() && cost + extent->load_cost() > limit) open_unit(row);
      extent->marked_by = unit_marks_;
      extent->mark_slot = static_cast<std::uint32_t>(step.units.back().uses.size());
      step.units.back().uses.push_back({.extent = extent->shared_from_this()});
      cost += extent->load_cost();
    }
    ++step.units.back().uses[extent->mark_slot].rows;
  }
  step.units.back().end_row = static_cast<std::uint32_t>(step.rows.size());
  for (Unit& unit : step.units) unadmitted_.push_back(&unit);
}

void Engine::note_lost_shard(std::uint32_t shard) {
  if (!lost_shards_.insert(shard).second) return;
  const Error& failure = *shards_.failure(shard);
  note_damage(DamagedRange{.file = dataset_.shard_path(shard),
                           .offset = failure.offset().value_or(0),
                           .first_record = 0,
                           .end_record = dataset_.shards()[shard].records,
                           .reason = failure.to_string()});
}

}  // namespace dovetail::detail
