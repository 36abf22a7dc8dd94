// SPDX-License-Identifier: Apache-2.0
// The result of `plan`; text and JSON are views of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>

#include "tools/command/json.h"

namespace dovetail::tools {

struct PlanReport {
  Plan plan;
  EpochPlan epoch;
  std::vector<RankShare> shares;  ///< The share of every rank.
  std::optional<MixingReport> mixing;
};

/// Makes a report without `mixing`.
PlanReport report_plan(const Plan& plan, const EpochPlan& epoch);

/// How every rank gets records of the whole dataset.
inline constexpr std::string_view kDealRuns =
    "use --assign runs, which deals the runs of all shards and needs equal --run-records, or --order global";

/// Mean number of runs of a lane that are ordered together; in a mix, those of its largest source.
std::uint64_t runs_ordered_together(const PlanReport& report);

/// The reason why lanes are narrow, and the remedy; empty if they are wide. The rule is in
/// docs/mixing.md.
std::optional<std::string> narrow_lanes(const PlanReport& report);

/// `mixing` is null if it was not measured. `first_step` is present if the world changed in the
/// epoch.
boost::json::object to_json(const PlanReport& report);
std::string to_text(const PlanReport& report);

}  // namespace dovetail::tools
