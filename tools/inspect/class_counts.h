// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "inspect/inspection.h"

namespace dovetail::tools {

/// How many records each class has: of each feature with one value in a record, few different ones, and exact counts.
/// Numbers have the names that the metadata give them (`kClassesKey`). Empty where no feature is like that.
std::string classes_html(const inspect::Inspection& inspection);

}  // namespace dovetail::tools
