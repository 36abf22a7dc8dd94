// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reader/delivery/slab.h"

namespace dovetail::detail {

/// Fills the rows of damaged records from their nearest good neighbours of the same lane, as far as there is room, and
/// marks them. Damage is rare, so this may allocate and copy.
Result<void> substitute_rows(Slab& slab, std::uint32_t rows_per_lane);

}  // namespace dovetail::detail
