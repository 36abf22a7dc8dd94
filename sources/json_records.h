// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "sources/file_records.h"

namespace dovetail::detail {

/// Reads JSON lines: each line that is not blank is a record as it is, without what ends it, and has to be JSON.
/// Errors: `malformed_input` with the number of the line; the next line is read after it.
std::unique_ptr<FileOpener> make_json_opener(std::uint32_t max_record_bytes);

}  // namespace dovetail::detail
