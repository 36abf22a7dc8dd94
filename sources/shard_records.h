// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Whether a sample of a dataset holds the record: the seeded hash of its id (eight bytes,
/// little-endian) is below that fraction of all hashes. Stable for ever; a smaller fraction gives a
/// subset of a larger one.
bool is_sampled(std::uint64_t id, double fraction, std::uint64_t seed) noexcept;

/// The shards of a dataset, a shard or a glob that have records in the range of the options.
/// Errors: `invalid_option` for an invalid sample; `empty_input` if no record is in the range;
///         those of `Dataset::open`.
Result<SourceListing> list_dataset(const std::string& path, const SourceOptions& options);

/// Reads a TFRecord through the index beside it, which has the checksums of each block, so that a
/// replaced file is detected. Errors: those of `Dataset::open` and `RecordReader`.
Result<std::unique_ptr<FileRecords>> open_indexed_tfrecord(const SourceFile& file, std::uint32_t max_record_bytes);

}  // namespace dovetail::detail
