// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/recover.h>
#include <dovetail/shard_info.h>

namespace dovetail::detail {

/// A shard of a dataset that is to be recovered.
struct ListedShard {
  std::string path;
  std::optional<ShardInfo> entry;   ///< What a manifest says of it.
  std::optional<Error> unreadable;  ///< Why it cannot be opened.
};

struct RecoveryListing {
  std::vector<ListedShard> shards;  ///< In their order.
  std::vector<LostRegion> lost;     ///< Of the dataset as a whole: its manifest, shards that nothing is left of.
  std::vector<std::string> passed_over;
  bool has_manifest = false;
};

/// The shards of a dataset by its manifest, or where that is not good by the files in its folder.
/// Errors: `outside_dataset`, `empty_input`, the system's.
Result<RecoveryListing> list_for_recovery(const std::string& folder, const std::string& manifest, bool allow_outside);

}  // namespace dovetail::detail
