// SPDX-License-Identifier: Apache-2.0
#include <dovetail/plan.h>

#include <string>
#include <utility>

#include "reader/plan/epoch_layout.h"
#include "reader/plan/plan_facts.h"
#include "reader/plan/shard_line.h"
#include "reader/plan/wide_math.h"

namespace dovetail {
namespace {

/// Refuses plans that have no steps in any epoch.
Result<void> check_steps(const detail::PlanFacts& facts) {
  detail::LaneSizes sizes = detail::even_sizes(facts);
  if (facts.options.assign == Assign::files) {
    // Whole files fill no lane better than equal parts would, and no more lanes than there are files with records.
    const bool possible = facts.dataset->shards.size() - facts.empty_shards >= facts.lanes &&
                          detail::count_steps(facts, sizes, 0).has_value();
    if (possible && facts.options.order != OrderKind::sequential) return {};
    sizes = detail::ShardLine(facts, 0).sizes(facts);
  }
  if (auto steps = detail::count_steps(facts, sizes, 0); !steps) return steps.error();
  return {};
}

}  // namespace

Plan::Plan(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Plan> Plan::make(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options) {
  auto facts = detail::make_facts(std::move(dataset), options);
  if (!facts) return facts.error();
  if (auto checked = check_steps(*facts); !checked) return checked.error();
  return Plan(std::make_shared<const State>(State{std::move(*facts)}));
}

const PlanOptions& Plan::options() const noexcept {
  return state_->options;
}
const DatasetShape& Plan::dataset() const noexcept {
  return *state_->dataset;
}
std::uint64_t Plan::records() const noexcept {
  return state_->records;
}
std::uint32_t Plan::readers() const noexcept {
  return state_->readers;
}
std::uint32_t Plan::lanes() const noexcept {
  return state_->lanes;
}
Hash128 Plan::plan_id() const noexcept {
  return state_->plan_id;
}
Hash128 Plan::order_id() const noexcept {
  return state_->order_id;
}
std::uint64_t Plan::check() const noexcept {
  return state_->plan_id.high ^ state_->plan_id.low;
}

Result<EpochPlan> Plan::epoch(std::uint32_t epoch) const {
  detail::ShardLine line(*state_, epoch);
  const auto steps = detail::count_steps(*state_, line.sizes(*state_), epoch);
  if (!steps) return steps.error();
  return EpochPlan(std::make_shared<const EpochPlan::Layout>(state_, epoch, *steps, std::move(line)));
}

Result<std::uint64_t> Plan::steps(std::uint32_t epoch) const {
  const bool even = state_->options.assign == Assign::even;
  return detail::count_steps(
      *state_, even ? detail::even_sizes(*state_) : detail::ShardLine(*state_, epoch).sizes(*state_), epoch);
}

Result<std::uint64_t> Plan::total_steps(std::uint32_t epochs) const {
  const bool varies = state_->options.assign == Assign::files && state_->options.order != OrderKind::sequential;
  if (!varies) {
    const auto each = steps(0);
    if (!each) return each.error();
    if (detail::product_overflows(*each, epochs)) {
      return Error(Errc::invalid_option, "epochs = " + std::to_string(epochs) + " of " + std::to_string(*each) +
                                             " steps are out of range: fewer than 2^64 steps are allowed");
    }
    return *each * epochs;
  }
  std::uint64_t total = 0;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const auto each = steps(epoch);
    if (!each) return each.error();
    total += *each;
  }
  return total;
}

}  // namespace dovetail
