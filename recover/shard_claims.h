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

/// What is said of a shard, and what was found of it.
struct ShardClaims {
  const ShardScan& scan;
  const ShardInfo* entry;   ///< Of a manifest; may be null.
  const ShardInfo* footer;  ///< May be null.
  const DecodedBlocks& decoded;
};

/// A region for each thing that manifest, trailer, footer or index say otherwise than another of them or the records
/// themselves. `expected_records` is how many the shard had, if that is known. Places and sizes are compared only where all
/// else is `intact`, as bytes that are lost or moved are told by themselves.
std::vector<LostRange> disagreements(const std::string& file, const ShardClaims& claims,
                                     std::optional<std::uint64_t> expected_records, bool intact);

}  // namespace dovetail::detail
