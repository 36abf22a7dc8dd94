// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/record_reader.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// A failure as an entry of a report: it takes records [first, end) with it.
LostRange as_damage(const Error& error, const std::string& file, std::uint64_t first, std::uint64_t end);

/// What of a shard is good.
struct GoodBlocks {
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
};

/// Takes a damaged place.
using DamageSink = std::function<void(LostRange)>;

/// Reads every byte of one shard and checks it, and the shard against its line of the manifest where there is one.
/// `damaged` gets what is not good, in the order in which it is found. A shard that cannot be opened for damage loses all
/// records that it is known to have.
/// Errors: whatever is not damage, such as a shard that has vanished.
Result<GoodBlocks> verify_shard(const std::string& path, const ShardInfo* expected, const DamageSink& damaged);

}  // namespace dovetail::detail
