// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"

namespace dovetail::detail {

/// What WebDataset makes of a member's name: the key is everything before the first dot of the last part, the rest of
/// that, in lower case, names the part of the record. Both are empty where there is no dot, or nothing before it.
struct MemberName {
  std::string_view key;
  std::string extension;
};
MemberName split_member_name(std::string_view name);

/// Reads tars of WebDataset: consecutive members of one key are a record, an Example with each member under its extension
/// and the key as `__key__`, those named `.gz` unpacked, class numbers as int64; in the raw form a key has one member, whose bytes they are.
/// Errors: `malformed_input` for a key that has two members of one extension, or several in the raw form; those of
///         `TarReader`. The next record is read after one of a single record.
std::unique_ptr<FileOpener> make_tar_opener(const SourceOptions& options);

}  // namespace dovetail::detail
