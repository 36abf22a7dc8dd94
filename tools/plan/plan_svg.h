// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>

#include "tools/plan/plan_report.h"

namespace dovetail::tools {

/// Draws an epoch: the line of shards with the cuts of the lanes, the share of each rank, and the
/// steps at which each slice of the dataset comes. Adds the numbers and the verdict of the mixing
/// if it was measured. `name` is the name of the dataset. Long lists are binned, and the drawing
/// notes that.
///
/// Cost: that of `shard_line` and two of `map_mixing`; at most some hundred kilobytes of text.
/// Errors: those of `shard_line`.
Result<std::string> draw_plan(const PlanReport& report, const std::string& name);

}  // namespace dovetail::tools
