// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads the samples of MDS shards: Examples with a feature per column, or the bytes of the only
/// column.
/// Errors: `sidecar_mismatch` if shard and index disagree; `malformed_input`.
Result<std::unique_ptr<FileOpener>> make_mds_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
