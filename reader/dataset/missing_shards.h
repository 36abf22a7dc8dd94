// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// What the numbers of the shards in a folder without a manifest say of others that should be there: every shard of a dataset
/// knows its place in it. `unread` more files lie there whose numbers are not known. Shards after the last one are not missed, nor are the others of a dataset that has only one file
/// among those of other datasets: one that was recovered, or written by itself.
/// Errors: the list holds one `missing_shard` for each dataset with gaps, which names the folder and the numbers.
std::vector<Error> missing_shards(const std::string& folder, const std::vector<ShardInfo>& shards,
                                  std::size_t unread = 0);

}  // namespace dovetail::detail
