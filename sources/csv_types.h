// SPDX-License-Identifier: Apache-2.0
// What the columns of CSV files are: the same in all files.
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

/// The columns of a source's files with the types that are given, and else those that hold all values of all files. Where all
/// are given nothing is read but the first row of the first file that has one, and where rows stay raw that of each.
///
/// Errors: `malformed_input` for a file with other columns than the first, which is passed over under `OnError::skip`, and
///         for names that cannot be; `invalid_option` for a doubtful delimiter, and for the type of a column that there is
///         not; `operation_canceled`. Rows that cannot be read say nothing: they are told where they are read as records.
Result<CsvLayout> find_csv_layout(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
