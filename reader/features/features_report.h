// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/features.h>

namespace dovetail::detail {

/// Sets `schema` and `without_column` from the other members. Needs: features sorted by name.
void add_schema(FeaturesReport& report);

}  // namespace dovetail::detail
