// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tools/command/command_line.h"
#include "tools/plan/plan_file.h"

namespace dovetail::tools {

/// The flags that determine a plan. The value of a missing flag comes from the saved plan or the
/// state, or is its default.
struct PlanFlags {
  std::optional<std::uint32_t> world;
  std::optional<std::uint32_t> batch;
  std::optional<std::uint32_t> replicate;
  std::optional<std::uint32_t> lanes;
  std::optional<OrderKind> order;
  std::optional<Assign> assign;
  std::optional<Tail> tail;
  std::optional<std::uint32_t> open_runs;
  std::optional<std::uint32_t> pool;
  std::optional<std::uint64_t> seed;
  bool sticky = false;
  std::optional<std::string> weights;
  std::optional<MixStop> stop;
  std::optional<std::uint64_t> mix_steps;
  std::string plan_path;
  std::string state_path;
};

/// Adds all these flags except `--world`, whose help differs between subcommands.
void add_plan_arguments(Flags& flags, PlanFlags& plan,
                        const std::string& batch_help = "Rows per rank and step; required without --plan");

/// The plan to make.
struct PlanRequest {
  PlanOptions options;
  std::optional<State> state;      ///< Continue from here.
  std::optional<SavedPlan> saved;  ///< The result must be this plan.

  /// Errors: those of `Plan::make` or `Plan::resume`; `state_mismatch` if the result differs from
  ///         the saved plan.
  Result<Plan> plan(std::shared_ptr<const DatasetShape> dataset) const;
};

/// Reads the files that the flags name and combines everything. A flag beside a saved plan or a
/// state is not ignored: the making of the plan checks that they agree.
/// Errors: `invalid_option` if the batch is unknown; those of `load_plan` and `read_state`.
/// A caller that has already read the state passes it as `read`, because a pipe can be read only
/// once.
Result<PlanRequest> plan_request(const PlanFlags& flags, std::optional<State> read = {});

}  // namespace dovetail::tools
