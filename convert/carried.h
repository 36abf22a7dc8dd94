// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/record_writer.h>
#include <dovetail/source_options.h>

#include "convert/input_line.h"

namespace dovetail::detail {

/// Returns why there is no schema that all sources have, or nothing if there is one, or none has a
/// schema. The order of columns does not matter.
std::optional<std::string> schema_difference(const InputLine& line);

/// The options of the shards, completed from the sources: record type and schema if all sources
/// have the same, each metadata key with the same value in all of them, and the class names, see
/// `kClassesKey`. The order of columns is that of the first source.
WriterOptions carry_on(WriterOptions shard, const InputLine& line);

/// Checks that the shards of one source with records in the range agree on record type, schema and
/// class names. A glob, or a folder without a manifest, may have shards of several datasets, but
/// only the first one's metadata is kept.
/// Errors: `invalid_option`, naming two shards that differ; those of `list_dataset`.
/// Cost:   opens each shard and reads its metadata. A shard that cannot be opened is reported when
///         its records are read.
Result<void> check_shards_agree(const std::string& path, const SourceOptions& options);

/// All options that decide which records a source gives and their form, as one line; the same for
/// equal options.
std::string describe_options(const SourceOptions& options);

}  // namespace dovetail::detail
