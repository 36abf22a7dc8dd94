// SPDX-License-Identifier: Apache-2.0
// What `plan` says of an epoch; text and JSON are two views of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>

#include "tools/json.h"

namespace dovetail::tools {

struct PlanReport {
  Plan plan;
  EpochPlan epoch;
  std::vector<RankShare> shares;  ///< Of every rank.
  std::optional<MixingReport> mixing;
};

/// Measures the mixing only if it is asked for.
PlanReport report_plan(const Plan& plan, const EpochPlan& epoch, bool with_mixing);

/// What is weak, and what to change, one sentence each; nothing where the mixing is good.
std::vector<std::string> advice(const PlanReport& report);

/// `mixing` is there where it was measured, `first_step` where the world changed in the epoch.
boost::json::object to_json(const PlanReport& report);
std::string to_text(const PlanReport& report);

}  // namespace dovetail::tools
