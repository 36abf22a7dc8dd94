// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/recover.h>
#include <dovetail/shard_info.h>

#include "recover/block_choice.h"
#include "recover/shard_scan.h"

namespace dovetail::detail {

/// The claims about a shard, and the content found.
struct ShardClaims {
  const ShardScan& scan;
  const ShardInfo* entry;   ///< From the manifest; may be null.
  const ShardInfo* footer;  ///< May be null.
  const DecodedBlocks& decoded;
};

/// Returns a region for each contradiction between manifest, trailer, footer, index and the records
/// themselves. `expected_records` is the shard's number of records, if known. Compares offsets and
/// sizes only if all else is `intact`, because lost or moved bytes are reported separately.
std::vector<LostRange> disagreements(const std::string& file, const ShardClaims& claims,
                                     std::optional<std::uint64_t> expected_records, bool intact);

}  // namespace dovetail::detail
