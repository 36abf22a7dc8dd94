// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads the items of IDX files. As an Example, an item of one number is `label`, any other is
/// `image`, little-endian; images with labels beside them have both. In raw form an item is its
/// unchanged bytes.
/// Errors: `malformed_input`, `truncated`; `sidecar_mismatch` if the numbers of labels and images
///         differ.
Result<std::unique_ptr<FileOpener>> make_idx_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
