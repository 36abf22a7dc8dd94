// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "inspect/inspection.h"

namespace dovetail::tools {

/// Counts the records of each class, for features with one value per record, few distinct values
/// and exact counts. The metadata (`kClassesKey`) gives numbers their names. Empty if there is no
/// such feature.
std::string classes_html(const inspect::Inspection& inspection);

}  // namespace dovetail::tools
