// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>

#include "tools/plan/plan_report.h"

namespace dovetail::tools {

/// Draws an epoch: the shards on the line with the cuts of the lanes, what each rank gets, which slices of the dataset come
/// at which steps, and the numbers and the verdict of the mixing where it was measured. `name` says which dataset it is. What is too much to be seen is binned, and the drawing says so.
///
/// Cost: that of `shard_line` and two of `map_mixing`; the text has some hundred kilobytes at most.
/// Errors: those of `shard_line`.
Result<std::string> draw_plan(const PlanReport& report, const std::string& name);

}  // namespace dovetail::tools
