// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/delivery_matrix.h"

namespace dovetail::bench {

/// Everything that was measured, with the limits that were composed from it, as one JSON object.
std::string to_json(const Settings& settings, const std::vector<WorkloadResult>& results);

}  // namespace dovetail::bench
