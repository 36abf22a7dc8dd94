// SPDX-License-Identifier: Apache-2.0
// What `plan` says of an epoch; text and JSON are two views of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>

#include "tools/command/json.h"

namespace dovetail::tools {

struct PlanReport {
  Plan plan;
  EpochPlan epoch;
  std::vector<RankShare> shares;  ///< Of every rank.
  std::optional<MixingReport> mixing;
};

/// Without the mixing.
PlanReport report_plan(const Plan& plan, const EpochPlan& epoch);

/// Runs that are ordered together, on average of a lane: those of all shards, in a mix of its largest source.
std::uint64_t runs_ordered_together(const PlanReport& report);

/// What is narrow about the lanes, and what helps; nothing where they are wide. The rule is in docs/mixing.md.
std::optional<std::string> narrow_lanes(const PlanReport& report);

/// `mixing` is there where it was measured, `first_step` where the world changed in the epoch.
boost::json::object to_json(const PlanReport& report);
std::string to_text(const PlanReport& report);

}  // namespace dovetail::tools
