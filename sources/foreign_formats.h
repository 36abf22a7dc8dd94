// SPDX-License-Identifier: Apache-2.0
// Formats that are known well enough to be named, and not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

namespace dovetail::detail {

/// "this is a Parquet file; ...", with a command that makes of it what can be read, for a file that begins so.
std::optional<std::string> advice_on_foreign_bytes(ByteView head);
/// The same for a name that begins with `s3://` and the like.
std::optional<std::string> advice_on_address(std::string_view path);
/// Whether files of this name hold tables of many records: taken as one record each they would be taken wrongly.
bool has_table_name(std::string_view path);

}  // namespace dovetail::detail
