// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Checks that the shards of one source with records in the range agree on record type, schema and
/// class names. A glob, or a folder without a manifest, may have shards of several datasets, but
/// only the first one's metadata is kept.
/// Errors: `invalid_option`, naming two shards that differ; those of `list_dataset`.
/// Cost:   opens each shard and reads its metadata. A shard that cannot be opened is reported when
///         its records are read.
Result<void> check_shards_agree(const std::string& path, const SourceOptions& options);

}  // namespace dovetail::detail
