// SPDX-License-Identifier: Apache-2.0
#include <dovetail/plan.h>

#include <array>
#include <string>
#include <utility>

#include <dovetail/state.h>

#include "format/try.h"
#include "reader/plan/epoch_layout.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/plan_builder.h"
#include "reader/plan/wide_math.h"

namespace dovetail {

Plan::Plan(std::shared_ptr<const detail::PlanFacts> facts) : facts_(std::move(facts)) {}

Result<Plan> Plan::make(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options) {
  DOVETAIL_ASSIGN(auto facts, detail::make_facts(std::move(dataset), options));
  DOVETAIL_TRY(detail::check_epochs(facts));
  return Plan(std::make_shared<const detail::PlanFacts>(std::move(facts)));
}

Result<Plan> Plan::resume(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options, const State& state) {
  DOVETAIL_ASSIGN(auto facts, detail::resume_facts(std::move(dataset), options, state));
  DOVETAIL_TRY(detail::check_epochs(facts));
  Plan plan(std::make_shared<const detail::PlanFacts>(std::move(facts)));
  DOVETAIL_TRY(detail::check_start(plan.facts_));
  return plan;
}

const PlanOptions& Plan::options() const noexcept {
  return facts_->options;
}
const DatasetShape& Plan::dataset() const noexcept {
  return *facts_->dataset;
}
std::uint64_t Plan::records() const noexcept {
  return facts_->records;
}
std::uint32_t Plan::readers() const noexcept {
  return facts_->readers;
}
std::uint32_t Plan::lanes() const noexcept {
  return facts_->grid.lanes;
}
Position Plan::start() const noexcept {
  return facts_->start;
}
bool Plan::changes_world() const noexcept {
  return facts_->changed_at_start;
}
Hash128 Plan::plan_id() const noexcept {
  return facts_->plan_id;
}
Hash128 Plan::order_id() const noexcept {
  return facts_->order_id;
}

std::uint64_t Plan::plan_checksum(Position begin) const noexcept {
  const Hash128 all = detail::hash_words(
      std::array<std::uint64_t, 4>{facts_->plan_id.high, facts_->plan_id.low, begin.epoch, begin.step});
  return all.high ^ all.low;
}

Result<EpochPlan> Plan::epoch(std::uint32_t epoch) const {
  DOVETAIL_ASSIGN(auto layout, detail::make_layout(facts_, epoch));
  return EpochPlan(std::move(layout));
}

Result<std::uint64_t> Plan::steps(std::uint32_t epoch) const {
  if (facts_->past && facts_->past->epoch == epoch) {
    DOVETAIL_ASSIGN(const auto layout, detail::make_layout(facts_, epoch));
    return layout->steps;
  }
  if (facts_->lengths) return detail::count_steps(*facts_, facts_->grid, *facts_->lengths);
  DOVETAIL_ASSIGN(const auto lengths, detail::lane_lengths(*facts_, facts_->grid, epoch));
  return detail::count_steps(*facts_, facts_->grid, lengths);
}

Result<std::uint64_t> Plan::total_steps(std::uint32_t epochs) const {
  std::uint64_t total = 0;
  std::uint32_t planned = 0;
  if (facts_->lengths) {
    DOVETAIL_ASSIGN(const auto each, detail::count_steps(*facts_, facts_->grid, *facts_->lengths));
    if (detail::product_overflows(each, epochs)) {
      return Error(Errc::invalid_option, "epochs = " + std::to_string(epochs) + " of " + std::to_string(each) +
                                             " steps are out of range: fewer than 2^64 steps are allowed");
    }
    total = each * epochs;
    planned = epochs;
  }
  for (; planned < epochs; ++planned) {
    DOVETAIL_ASSIGN(const auto lengths, detail::lane_lengths(*facts_, facts_->grid, planned));
    DOVETAIL_ASSIGN(const auto each, detail::count_steps(*facts_, facts_->grid, lengths));
    total += each;
  }
  return total;
}

Result<State> Plan::state(Position position) const {
  State state = detail::state_of(*facts_, position.epoch);
  const std::uint64_t past = state.position().step;
  if (position.step == past) return state;
  DOVETAIL_ASSIGN(const auto steps, this->steps(position.epoch));
  if (position.step > steps || position.step < past) {
    return Error(Errc::invalid_option,
                 "step = " + std::to_string(position.step) + " of epoch " + std::to_string(position.epoch) +
                     " is out of range: " + std::to_string(past) + " to " + std::to_string(steps) + " are possible");
  }
  state.phases.back().steps += position.step - past;
  return state;
}

}  // namespace dovetail
