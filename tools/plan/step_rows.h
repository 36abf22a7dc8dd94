// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tools/plan/plan_arguments.h"

namespace dovetail::tools {

/// The state at the beginning of phase `phase` of `state`'s epoch. Needs:
/// `phase < state.phases.size()`.
State begin_of_phase(const State& state, std::size_t phase);

/// The phase of a step of the state's epoch. Empty for steps after the state.
std::optional<std::size_t> phase_of(const State& state, std::uint64_t step);

/// One row of a step.
struct StepRow {
  std::optional<std::uint32_t> rank;  ///< Empty if unknown. With replicas, the first.
  std::uint64_t row = 0;              ///< In the rank's batch, or in that of all readers.
  PlannedRecord record;
};

struct StepRows {
  Hash128 plan_id;
  Position position;
  std::uint64_t steps = 0;  ///< Steps of the epoch.
  std::vector<StepRow> rows;
};

/// A query for the rows of a step.
struct StepQuery {
  std::uint64_t step = 0;
  std::optional<std::uint32_t> epoch;  ///< By default that of the state, or 0.
  std::optional<std::uint32_t> rank;   ///< By default all ranks.
};

/// The rows of any step of an epoch, including steps before the state that the flags name; these
/// have the lanes of their time. Ranks are those of `--world`, if it fits these lanes.
/// Errors: those of planning; `invalid_option` for a step or rank that does not exist.
Result<StepRows> rows_of_step(const PlanFlags& flags, const std::shared_ptr<const DatasetShape>& dataset,
                              const StepQuery& query);

}  // namespace dovetail::tools
