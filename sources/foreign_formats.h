// SPDX-License-Identifier: Apache-2.0
// Formats that are recognised but not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

namespace dovetail::detail {

/// "this is a Parquet file; ...", with a command that converts it, for a file with this head.
std::optional<std::string> advice_on_foreign_bytes(ByteView head);
/// The same for addresses such as `s3://...`.
std::optional<std::string> advice_on_address(std::string_view path);
/// Whether files of this name are tables of many records, which must not be read as one record
/// each.
bool has_table_name(std::string_view path);

}  // namespace dovetail::detail
