// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads the rows of CSV files: Examples with a feature per column, or the unchanged bytes of the
/// row. All files have the same columns: see `find_csv_layout`.
/// Errors: `malformed_input` with file, line and column; the next call reads the next row. Those of
///         `find_csv_layout`.
Result<std::unique_ptr<FileOpener>> make_csv_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
