// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/recover.h>

#include "convert/shard_scan.h"

namespace dovetail::detail {

/// What a good file would have between the structures that are left, and what is there instead: the missing records and
/// structures, each with the bytes where they were, and all other bytes that no structure has.
///
/// `scan` is that of chosen blocks, in the order of their records; its notes are sorted. `expected_records` is how many the
/// shard had, if that is known.
std::vector<LostRegion> lost_regions(const std::string& file, const ShardScan& scan,
                                     std::optional<std::uint64_t> expected_records);

}  // namespace dovetail::detail
