// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "reader/plan/epoch_layout.h"
#include "reader/plan/plan_facts.h"

namespace dovetail::detail {

/// Rejects states that no job can have reached. Errors: `bad_state`.
Result<void> check_state(const State& state);

/// The facts of a plan that continues from `state`. Errors: see `Plan::resume`.
Result<PlanFacts> resume_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options,
                               const State& state);

/// Rejects plans in which some epoch has no steps. Sets `facts.lengths` if they are the same in all
/// epochs.
Result<void> check_epochs(PlanFacts& facts);

/// Rejects a state whose steps the epoch does not have. Errors: `state_mismatch`.
Result<void> check_start(const std::shared_ptr<const PlanFacts>& facts);

/// Lays out an epoch. Errors: `no_steps`; `state_mismatch` for a past that is impossible with this
/// dataset.
Result<std::shared_ptr<const EpochLayout>> make_layout(const std::shared_ptr<const PlanFacts>& facts,
                                                       std::uint32_t epoch);

/// The state at the first step of an epoch's present phase.
State state_of(const PlanFacts& facts, std::uint32_t epoch);

}  // namespace dovetail::detail
