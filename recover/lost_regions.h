// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/recover.h>

#include "recover/shard_scan.h"

namespace dovetail::detail {

/// Returns the missing records and structures, each with the bytes found in their place, and all
/// other bytes that belong to no structure.
///
/// `scan` must have its blocks chosen, in the order of their records, and its notes sorted.
/// `expected_records` is the shard's number of records, if known. The regions do not name the file,
/// because there may be millions.
std::vector<LostRange> lost_regions(const ShardScan& scan, std::optional<std::uint64_t> expected_records);

/// Counts a region, and lists it if fewer than `most` are listed.
void tell_region(LostRange region, std::uint64_t most, RecoverReport& report);

}  // namespace dovetail::detail
