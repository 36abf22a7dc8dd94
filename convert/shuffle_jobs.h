// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/error.h>

#include "convert/shard_jobs.h"
#include "convert/survey.h"

namespace dovetail::detail {

/// Writes the shards that the tally does not have, with all records of the line in shuffled order.
///
/// Each record has a key, see `shuffle_key`. Records are ordered by key, and shard k of S gets the
/// keys from k * 2^64 / S on. A first pass over the line writes the records of the missing shards
/// to buckets: ranges of keys that fit into memory. A second pass loads, sorts and writes them,
/// shard by shard.
/// Errors: as `write_shards`; `budget_too_small` for a record that does not fit into one thread's
/// memory, and for too many buckets.
Result<void> write_shuffled_shards(const ShardWork& work, const Survey& survey, std::uint64_t seed);

}  // namespace dovetail::detail
