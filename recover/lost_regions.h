// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/recover.h>

#include "recover/shard_scan.h"

namespace dovetail::detail {

/// What a good file would have between the structures that are left, and what is there instead: the missing records and
/// structures, each with the bytes where they were, and all other bytes that no structure has.
///
/// `scan` is that of chosen blocks, in the order of their records; its notes are sorted. `expected_records` is how many the
/// shard had, if that is known. The regions do not name the file: there may be millions.
std::vector<LostRange> lost_regions(const ShardScan& scan, std::optional<std::uint64_t> expected_records);

/// Counts a region, and lists it where fewer than `most` are listed.
void tell_region(LostRange region, std::uint64_t most, RecoverReport& report);

}  // namespace dovetail::detail
