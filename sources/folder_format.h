// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "format/layout.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Decides what the files of a folder are, and leaves those that are wanted in `listing`.
/// Errors: names of several formats, tables, an index without its file; they name `path` or the file.
Result<void> choose_format(SourceListing& listing, SourceFormat wanted, const std::string& path);

/// Where an index has lost its file, records are missing: an error. The name of an index ends with `index` where that of
/// its file ends with `records`.
Result<void> check_no_index_alone(const SourceListing& listing, std::string_view index = format::kTfrecordIndexSuffix,
                                  std::string_view records = "");

}  // namespace dovetail::detail
