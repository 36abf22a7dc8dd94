// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/step_rows.h"

#include <string>
#include <utility>

#include "format/text/count_of.h"
#include "format/try.h"
#include "tools/plan/plan_file.h"

namespace dovetail::tools {

namespace {

/// The most rows to list. A manipulated state can claim any number.
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 26;

/// A plan that has the step. `ranks_known` is false if other ranks read the step.
struct StepPlan {
  Plan plan;
  bool ranks_known = true;
};

/// Sets one reader per lane, which gives the same global batches as any world that fits.
void take_lanes(PlanOptions& options, const State::Phase& phase) {
  options.world = phase.lanes;
  options.batch = phase.rows_per_lane;
  options.replicate = 1;
  options.lanes = phase.lanes;
}

bool fits(const PlanOptions& options, const State::Phase& phase) {
  if (options.replicate == 0 || options.world % options.replicate != 0 || options.world == 0) return false;
  const std::uint64_t readers = options.world / options.replicate;
  return phase.lanes % readers == 0 && readers * options.batch == std::uint64_t{phase.lanes} * phase.rows_per_lane;
}

Result<StepPlan> plan_before_state(PlanOptions options, const State& state, std::size_t phase, bool world_given,
                                   const std::shared_ptr<const DatasetShape>& dataset) {
  const bool known = world_given && fits(options, state.phases[phase]);
  if (known) {
    options.lanes = state.phases[phase].lanes;
  } else {
    take_lanes(options, state.phases[phase]);
  }
  DOVETAIL_ASSIGN(Plan plan, Plan::resume(dataset, options, begin_of_phase(state, phase)));
  return StepPlan{std::move(plan), known};
}

/// Takes world and batch from the lanes of the state, for callers without other values.
void take_world(PlanFlags& flags, const State& state) {
  PlanOptions options;
  take_lanes(options, state.phases.back());
  flags.world = options.world;
  flags.batch = options.batch;
  flags.replicate = options.replicate;
}

Result<StepPlan> plan_of(PlanFlags flags, const std::shared_ptr<const DatasetShape>& dataset, StepQuery& query) {
  std::optional<State> read;
  const bool world_given = flags.world || flags.batch || flags.state_path.empty() || !flags.plan_path.empty();
  if (!world_given) {
    DOVETAIL_ASSIGN(State state, read_state(flags.state_path));
    take_world(flags, state);
    read = std::move(state);
  }
  DOVETAIL_ASSIGN(const PlanRequest request, plan_request(flags, std::move(read)));
  if (const auto& state = request.state) {
    if (!query.epoch) query.epoch = state->epoch;
    if (*query.epoch < state->epoch) {
      return Error(Errc::invalid_option, "--epoch = " + std::to_string(*query.epoch) +
                                             ": the state was taken in epoch " + std::to_string(state->epoch) +
                                             " and does not have the lanes before it; leave out --epoch");
    }
    const auto phase = *query.epoch == state->epoch ? phase_of(*state, query.step) : std::nullopt;
    if (phase) return plan_before_state(request.options, *state, *phase, world_given, dataset);
  }
  if (!query.epoch) query.epoch = 0;
  DOVETAIL_ASSIGN(Plan plan, request.plan(dataset));
  return StepPlan{std::move(plan), world_given};
}

Result<void> check(const StepPlan& found, const EpochPlan& epoch, const StepQuery& query) {
  if (query.step < epoch.first_step() || query.step >= epoch.steps()) {
    return Error(Errc::invalid_option, "--step = " + std::to_string(query.step) + " is out of range: epoch " +
                                           std::to_string(*query.epoch) + " has " +
                                           format::count_of(epoch.steps(), "step"));
  }
  if (epoch.rows_per_lane() > kMaxRows / epoch.lanes()) {
    return Error(Errc::invalid_option, "step " + std::to_string(query.step) + " has more than " +
                                           std::to_string(kMaxRows) + " rows, too many to list");
  }
  if (!query.rank) return {};
  if (!found.ranks_known) {
    return Error(Errc::invalid_option,
                 "--rank = " + std::to_string(*query.rank) + ": step " + std::to_string(query.step) +
                     " was read in another world; give the --world and --batch of that time, or no rank");
  }
  const std::uint32_t world = found.plan.options().world;
  if (*query.rank < world) return {};
  return Error(Errc::invalid_option, "--rank = " + std::to_string(*query.rank) + " is out of range: 0 to " +
                                         std::to_string(world - 1) + " are valid");
}

void append_batch(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t step, bool ranks_known,
                  std::vector<StepRow>& rows) {
  std::uint64_t row = 0;
  std::vector<Pick> picks(epoch.rows_per_lane());
  for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
    LaneCursor cursor = epoch.lane(epoch.first_lane(rank) + lane).cursor(epoch.first_output(step));
    cursor.next(picks);
    for (const Pick& pick : picks) {
      if (ranks_known) {
        rows.push_back({rank, row++, cursor.record(pick)});
      } else {
        rows.push_back({std::nullopt, rows.size(), cursor.record(pick)});
      }
    }
  }
}

}  // namespace

State begin_of_phase(const State& state, std::size_t phase) {
  State begin = state;
  begin.phases.resize(phase + 1);
  begin.phases.back().steps = 0;
  return begin;
}

std::optional<std::size_t> phase_of(const State& state, std::uint64_t step) {
  std::uint64_t end = 0;
  for (std::size_t phase = 0; phase < state.phases.size(); ++phase) {
    end += state.phases[phase].steps;
    if (step < end) return phase;
  }
  return std::nullopt;
}

Result<StepRows> rows_of_step(const PlanFlags& flags, const std::shared_ptr<const DatasetShape>& dataset,
                              const StepQuery& query) {
  StepQuery asked = query;
  DOVETAIL_ASSIGN(const StepPlan found, plan_of(flags, dataset, asked));
  DOVETAIL_ASSIGN(const EpochPlan epoch, found.plan.epoch(*asked.epoch));
  DOVETAIL_TRY(check(found, epoch, asked));
  StepRows rows{
      .plan_id = found.plan.plan_id(), .position = {*asked.epoch, asked.step}, .steps = epoch.steps(), .rows = {}};
  const PlanOptions& options = found.plan.options();
  const std::uint32_t first = asked.rank.value_or(0);
  const std::uint32_t end = asked.rank ? first + 1 : options.world;
  for (std::uint32_t rank = first; rank < end; rank += options.replicate) {
    append_batch(epoch, rank, asked.step, found.ranks_known, rows.rows);
  }
  return rows;
}

}  // namespace dovetail::tools
