// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reader/delivery/slab.h"
#include "reader/delivery/step.h"

namespace dovetail::detail {

/// Fills the rows of damaged records from their nearest good neighbours of the same lane, as far as there is room, and
/// counts the rows by their status anew. Damage is rare, so this may allocate and copy.
Result<void> substitute_rows(Step& step, Slab& slab, std::uint32_t rows_per_lane);

}  // namespace dovetail::detail
