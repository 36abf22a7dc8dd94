// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/messages.h"

namespace dovetail::detail {

/// Whether a shard with this metadata is the manifest of a dataset.
bool is_manifest(const format::Metadata& metadata);

/// Reads the list of shards out of a manifest and checks each line: its name stays inside the folder unless
/// `allow_outside`, and its file id says that it is this dataset's shard of that position. Touches no shard.
/// Errors: `manifest_mismatch`, `outside_dataset`, `bad_message`, `unknown_format` where the file is a shard of
/// something
///         else, those of reading a shard.
Result<std::vector<ShardInfo>> read_manifest(const std::string& path, bool allow_outside);

/// Whether a file that a manifest names lies inside the manifest's folder, links followed, and so does the index of a TFRecord
/// file beside it, if there is one: which of both is opened the file itself says.
/// Errors: `outside_dataset`, or the system's.
Result<void> check_inside(const std::string& folder, const std::string& name);

}  // namespace dovetail::detail
