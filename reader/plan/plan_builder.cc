// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/plan_builder.h"

#include <string>
#include <utility>

#include "format/try.h"

namespace dovetail::detail {
namespace {

Error impossible_past(std::uint32_t epoch, std::size_t phase, std::uint64_t steps, std::uint64_t possible) {
  return Error(Errc::state_mismatch, "the state has taken " + std::to_string(steps) + " steps in phase " +
                                         std::to_string(phase) + " of epoch " + std::to_string(epoch) +
                                         ", which has only " + std::to_string(possible) +
                                         ": it was not taken from this dataset with these options");
}

Error impossible_base(std::uint32_t epoch, const LaneGrid& base) {
  return Error(Errc::state_mismatch, "the state began epoch " + std::to_string(epoch) + " with " +
                                         std::to_string(base.lanes) + " lanes of " +
                                         std::to_string(base.rows_per_lane) +
                                         " rows, which gives no steps: it was not taken from this dataset");
}

/// Applies the past phases of an epoch to `layout`, up to the present phase.
Result<void> replay(const EpochPast& past, EpochLayout& layout, std::uint64_t first_phase_steps) {
  const PlanFacts& facts = *layout.facts;
  std::uint64_t possible = first_phase_steps;
  for (std::size_t i = 0; i < past.phases.size(); ++i) {
    const State::Phase& phase = past.phases[i];
    const bool last = i + 1 == past.phases.size();
    if (phase.steps > possible || (phase.steps == possible && !last)) {
      return impossible_past(past.epoch, i, phase.steps, possible);
    }
    layout.past_steps += phase.steps;
    layout.past_rows += phase.steps * phase.lanes * phase.rows_per_lane;
    if (phase.steps == possible) {
      layout.over = true;
      layout.lane_outputs = phase.steps * phase.rows_per_lane;
      layout.steps = layout.past_steps;
      return {};
    }
    const LaneGrid next = last ? facts.grid : LaneGrid{past.phases[i + 1].lanes, past.phases[i + 1].rows_per_lane};
    layout.lanes.change(phase.steps * phase.rows_per_lane, next.lanes);
    possible = steps_of_rest(layout.lanes.lengths(), next.rows_per_lane, facts.options.tail);
  }
  layout.steps = layout.past_steps + possible;
  layout.lane_outputs = possible * facts.grid.rows_per_lane;
  return {};
}

}  // namespace

Result<void> check_epochs(PlanFacts& facts) {
  if (facts.lanes_vary()) return check_files(facts);
  DOVETAIL_ASSIGN(LaneLengths lengths, lane_lengths(facts, facts.grid, 0));
  DOVETAIL_TRY(count_steps(facts, facts.grid, lengths));
  facts.lengths = std::move(lengths);
  return {};
}

Result<std::shared_ptr<const EpochLayout>> make_layout(const std::shared_ptr<const PlanFacts>& facts,
                                                       std::uint32_t epoch) {
  const EpochPast* const past = facts->past && facts->past->epoch == epoch ? &*facts->past : nullptr;
  const LaneGrid base =
      past != nullptr ? LaneGrid{past->phases.front().lanes, past->phases.front().rows_per_lane} : facts->grid;
  Result<LaneLengths> lengths =
      facts->lengths && base == facts->grid ? Result<LaneLengths>(*facts->lengths) : lane_lengths(*facts, base, epoch);
  if (!lengths) return past == nullptr ? lengths.error() : impossible_base(epoch, base);
  const Result<std::uint64_t> steps = count_steps(*facts, base, *lengths);
  if (!steps) return past == nullptr ? steps.error() : impossible_base(epoch, base);
  auto layout = std::make_shared<EpochLayout>(facts, epoch, base, std::move(*lengths));
  if (past != nullptr) {
    DOVETAIL_TRY(replay(*past, *layout, *steps));
  } else {
    layout->steps = *steps;
    layout->lane_outputs = *steps * base.rows_per_lane;
  }
  return std::shared_ptr<const EpochLayout>(std::move(layout));
}

Result<void> check_start(const std::shared_ptr<const PlanFacts>& facts) {
  DOVETAIL_ASSIGN(const auto layout, make_layout(facts, facts->start.epoch));
  if (facts->start.step <= layout->steps) return {};
  return impossible_past(facts->start.epoch, facts->past ? facts->past->phases.size() : 0,
                         facts->start.step - layout->past_steps, layout->steps - layout->past_steps);
}

State state_of(const PlanFacts& facts, std::uint32_t epoch) {
  const PlanOptions& options = facts.options;
  State state;
  state.order = options.order;
  state.assign = options.assign;
  state.tail = options.tail;
  state.sticky = options.sticky;
  state.mixed = facts.mix != nullptr;
  state.open_runs = options.open_runs;
  state.pool = options.pool;
  state.seed = options.seed;
  state.replicate = options.replicate;
  state.content = state_content(facts);
  state.epoch = epoch;
  if (facts.past && facts.past->epoch == epoch) state.phases = facts.past->phases;
  state.phases.push_back({0, facts.grid.lanes, static_cast<std::uint32_t>(facts.grid.rows_per_lane)});
  return state;
}

}  // namespace dovetail::detail
