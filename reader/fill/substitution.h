// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/order.h>

namespace dovetail::detail {

/// For each row of a batch, the row whose record it gets: itself, unless it is damaged and its lane
/// has a good row.
std::vector<std::uint32_t> substitution_sources(std::span<const RowStatus> status, std::uint32_t rows_per_lane);

}  // namespace dovetail::detail
