// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// Compares the number that each shard has in its dataset with its place among the files of a folder without a good
/// manifest. `shards` are in the order of their names; `unread` more files lie there whose numbers are not known.
///
/// Numbers have to ascend, each to come once, and none to be left out. A dataset with one file may leave out numbers where
/// others have files too: a file of each is a collection of what was recovered, or written on its own. TFRecords have no
/// number, and shards after the last one are not missed.
/// Errors: for each dataset one `missing_shard`, or one `misplaced_shard`, at most; both name the folder and the files.
std::vector<Error> check_shard_numbers(const std::string& folder, const std::vector<ShardInfo>& shards,
                                       std::size_t unread = 0);

}  // namespace dovetail::detail
