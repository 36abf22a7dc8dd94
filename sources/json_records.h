// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/source_options.h>

#include "sources/file_records.h"

namespace dovetail::detail {

/// Reads JSON lines: each line that is not blank is a record as it is, without what ends it, and has to
/// be JSON. For `RecordForm::example` it has to be an object, whose members become features: see
/// `format::for_each_member`.
/// Errors: `malformed_input` with the number of the line; the next line is read after it.
std::unique_ptr<FileOpener> make_json_opener(const SourceOptions& options);

}  // namespace dovetail::detail
