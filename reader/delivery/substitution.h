// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reader/delivery/slab.h"

namespace dovetail::detail {

/// For each row of a batch, the row that it gets: itself, unless it is damaged and a neighbour of its lane is good.
std::vector<std::uint32_t> substitution_sources(std::span<const RowStatus> status, std::uint32_t rows_per_lane);

/// Fills the rows of damaged records from their nearest good neighbours of the same lane, as far as there is room, and
/// marks them. Damage is rare, so this may allocate and copy.
Result<void> substitute_rows(Slab& slab, std::uint32_t rows_per_lane);

}  // namespace dovetail::detail
