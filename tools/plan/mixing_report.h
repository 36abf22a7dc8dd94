// SPDX-License-Identifier: Apache-2.0
// The text of the mixing report; docs/mixing.md explains it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/json.h"
#include "tools/plan/plan_report.h"

namespace dovetail::tools {

/// A name, and the numbers of the plan and of a true shuffle.
using MixingRow = std::array<std::string, 3>;

// All functions need a report with `mixing`.

/// The rows of the report; empty if no batch was measured.
std::vector<MixingRow> mixing_rows(const PlanReport& report);
/// The extent of the measurement.
std::string mixing_extent(const PlanReport& report);
/// States that the mixing is good, and whether labels were judged; empty if it is weak or was not
/// measured.
std::optional<std::string> good_text(const PlanReport& report);
/// The weaknesses and their remedies, one sentence each; empty if the mixing is good.
std::vector<std::string> advice(const PlanReport& report);

boost::json::object mixing_json(const PlanReport& report);
std::string mixing_text(const PlanReport& report);

}  // namespace dovetail::tools
