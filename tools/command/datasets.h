// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/dataset.h>

namespace dovetail::tools {

/// Opens the datasets of PATH... and joins them in order. Errors: those of `Dataset::open` and
/// `Dataset::join`.
Result<Dataset> open_datasets(const std::vector<std::string>& paths);

}  // namespace dovetail::tools
