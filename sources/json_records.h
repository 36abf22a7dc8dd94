// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/source_options.h>

#include "sources/file_records.h"

namespace dovetail::detail {

/// Reads JSON lines: each non-blank line is a record, without its line end, and must be JSON. For
/// `RecordForm::example` it must be an object, whose members become features: see
/// `format::for_each_member`.
/// Errors: `malformed_input` with the number of the line; the next call reads the next line.
std::unique_ptr<FileOpener> make_json_opener(const SourceOptions& options);

}  // namespace dovetail::detail
