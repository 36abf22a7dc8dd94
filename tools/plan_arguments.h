// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/plan.h>

#include "tools/command_line.h"

namespace dovetail::tools {

/// The flags that decide a plan, but for `--world`: all fields of `PlanOptions` that `plan` and `read` share.
void add_plan_arguments(Flags& flags, PlanOptions& options);

}  // namespace dovetail::tools
