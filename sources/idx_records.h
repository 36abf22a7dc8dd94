// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads the items of IDX files. As an Example an item of one number is `label`, any other is `image`, little-endian; where
/// the labels of images lie beside them, both. In the raw form an item is its bytes as they are.
/// Errors: `malformed_input`, `truncated`; `sidecar_mismatch` where there are not as many labels as images.
Result<std::unique_ptr<FileOpener>> make_idx_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
