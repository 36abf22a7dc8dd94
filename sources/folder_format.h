// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "format/layout.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Chooses the format of the files of a folder, and keeps the selected ones in `listing`. Errors
/// name the first file in the order of the listing.
/// Errors: names of several formats, tables, an index without its file, a file beside its compressed
///         copy; they name `path` or the file.
Result<void> choose_format(SourceListing& listing, SourceFormat wanted, const std::string& path);

/// Errors: an index without its file, which means missing records. The name of an index ends with
///         `index`, and that of its file with `records`.
Result<void> check_no_index_alone(const SourceListing& listing, std::string_view index = format::kTfrecordIndexSuffix,
                                  std::string_view records = "");

}  // namespace dovetail::detail
