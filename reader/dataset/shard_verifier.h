// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/record_reader.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// Makes an entry of a report from a failure. Records [first, end) are lost with it.
LostRange as_damage(const Error& error, const std::string& file, std::uint64_t first, std::uint64_t end);

/// The undamaged part of a shard.
struct GoodBlocks {
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
};

/// Called with each damaged place.
using DamageSink = std::function<void(LostRange)>;

/// Reads and checks every byte of one shard, and checks the shard against its entry of the manifest
/// if there is one. Calls `damaged` for each damaged place, in the order in which they are found. A
/// shard that cannot be opened because of damage loses all records that it is known to have.
/// Errors: failures other than damage, such as a missing shard.
Result<GoodBlocks> verify_shard(const std::string& path, const ShardInfo* expected, const DamageSink& damaged);

}  // namespace dovetail::detail
