// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// For a folder without a good manifest: compares the number of each shard in its dataset with the
/// place of its file. `shards` are in the order of their names. The folder has `unread` more files
/// whose numbers are not known.
///
/// The numbers of a dataset must ascend, without duplicates or gaps. If the folder has files of
/// several datasets, a dataset with only one file may have gaps: such a folder may collect
/// recovered shards. TFRecords have no number, and shards after the last one are not missed.
/// Errors: at most one per dataset, `missing_shard` or `misplaced_shard`; both name the folder and
///         the files.
std::vector<Error> check_shard_numbers(const std::string& folder, const std::vector<ShardInfo>& shards,
                                       std::size_t unread = 0);

}  // namespace dovetail::detail
