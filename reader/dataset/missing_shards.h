// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// What the numbers of the shards in a folder without a good manifest say of others that should be there: every shard of a
/// dataset knows its place in it. `unread` more files lie there whose numbers are not known. Looked at is each dataset that has
/// two files or more, and one that has a single file if no other dataset has any: a file each of several datasets is a
/// collection of what was recovered or written by itself. TFRecords have no number; shards after the last one are not missed.
/// Errors: the list holds one `missing_shard` for each dataset with gaps, which names the folder and the numbers.
std::vector<Error> missing_shards(const std::string& folder, const std::vector<ShardInfo>& shards,
                                  std::size_t unread = 0);

}  // namespace dovetail::detail
