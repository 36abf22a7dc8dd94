// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// The opener for the files of a listing, which must outlive it.
/// Errors: `invalid_option` for options that the format does not have; those that some formats find
///         before their first record.
Result<std::unique_ptr<FileOpener>> make_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
