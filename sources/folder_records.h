// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads every file of a folder as one record, with its relative path as key. As an Example it has
/// `data` and `__key__`; with labels also `class`, the first folder of its path, and `label`, the
/// number of that class in bytewise order.
/// Needs: with labels, every file is in a subfolder.
Result<std::unique_ptr<FileOpener>> make_folder_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
