// SPDX-License-Identifier: Apache-2.0
// The columns of CSV files, the same in all files.
#pragma once

#include <vector>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/csv_layout.h"
#include "sources/csv_rows.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// The columns that the first row of a file names, or numbers.
std::vector<CsvColumn> columns_of(const CsvRows& first_row, bool header);

/// The columns of a source's files, with the given types, else with types that hold all values of
/// all files. If all types are given, reads only the first row of the first file that has one; if
/// rows stay raw, only that of each file.
///
/// Errors: `malformed_input` for a file whose columns differ from the first, unless `OnError::skip`
///         leaves it out, and for invalid names; `invalid_option` for a doubtful delimiter or
///         header, and for the type of a column that does not exist; `operation_canceled`.
///         Unreadable rows are ignored here, and reported when they are read as records.
Result<CsvLayout> find_csv_layout(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
