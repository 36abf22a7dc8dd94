// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/dataset_writer.h>
#include <dovetail/error.h>
#include <dovetail/record_writer.h>

#include "format/messages.h"
#include "writer/block_cutter.h"

namespace dovetail::detail {

/// The shard number of manifests; shards of records have smaller ones.
inline constexpr std::uint32_t kManifestShardNumber = 0xFFFFFFFF;
inline constexpr unsigned kMaxEncodeThreads = 1024;

/// Errors: `invalid_option` naming the field, its value and what is allowed.
Result<void> validate(const WriterOptions& options);
Result<void> validate(const DatasetWriterOptions& options);

/// `record_too_large` where a record is above the writer's limit.
Result<void> check_record_size(const WriterOptions& options, std::uint64_t record, std::size_t bytes);

/// The metadata block of a shard.
format::Metadata make_metadata(const WriterOptions& options);
/// That of a shard of which nothing is known but the type of its records.
format::Metadata make_metadata(const std::string& record_type);

BlockCutter::Limits cutter_limits(const WriterOptions& options);

}  // namespace dovetail::detail
