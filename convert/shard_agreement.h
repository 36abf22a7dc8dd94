// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Whether the shards of one source that have records in the range say the same of them: record type, schema and names
/// of classes. A glob and a folder without a manifest may hold shards of several datasets, and only the first one's words
/// are carried on.
/// Errors: `invalid_option`, naming two shards that differ; those of `list_dataset`.
/// Cost:   opens each shard and reads its metadata. One that cannot be opened is told when its records are read.
Result<void> check_shards_agree(const std::string& path, const SourceOptions& options);

}  // namespace dovetail::detail
