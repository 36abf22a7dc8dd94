// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "reader/plan/epoch_layout.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// Refuses what no run could have reached. Errors: `bad_state`.
Result<void> check_state(const State& state);

/// Facts of a plan that continues from a state. Errors: see `Plan::resume`.
Result<PlanFacts> resume_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options,
                               const State& state);

/// Refuses plans that have no steps in any epoch, and keeps the lengths of lanes that are the same in all.
Result<void> check_epochs(PlanFacts& facts);

/// Refuses a state whose steps the epoch does not have. Errors: `state_mismatch`.
Result<void> check_start(const std::shared_ptr<const PlanFacts>& facts);

/// Lays out an epoch. Errors: `no_steps`, or `state_mismatch` for a past that cannot have been.
Result<std::shared_ptr<const EpochLayout>> make_layout(const std::shared_ptr<const PlanFacts>& facts,
                                                       std::uint32_t epoch);

/// The state at the first step of an epoch's present phase.
State state_of(const PlanFacts& facts, std::uint32_t epoch);

}  // namespace dovetail::detail
