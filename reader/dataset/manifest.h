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

/// Reads the list of shards from a manifest and checks each entry: its name stays inside the folder
/// unless `allow_outside`, and its file id is that of this dataset's shard at this position. Opens
/// no shard.
/// Errors: `manifest_mismatch`, `outside_dataset`, `bad_message`; `unknown_format` if the file is a
///         shard of another kind; those of reading a shard.
Result<std::vector<ShardInfo>> read_manifest(const std::string& path, bool allow_outside);

/// Checks that a file that a manifest names lies inside the manifest's folder, with links followed.
/// Checks the same for the index beside it, if there is one. The content of the file decides later
/// which of both is opened.
/// Errors: `outside_dataset`; those of the system.
Result<void> check_inside(const std::string& folder, const std::string& name);

}  // namespace dovetail::detail
