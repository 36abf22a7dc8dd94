// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"

namespace dovetail::detail {

/// Key and part of a member's name, as in WebDataset: the key is everything before the first dot of
/// the last path component; the rest, in lower case, names the part. Both are empty if there is no
/// dot, or nothing before it.
struct MemberName {
  std::string_view key;
  std::string extension;
};
MemberName split_member_name(std::string_view name);

/// Reads tars of WebDataset. Consecutive members of one key are a record: an Example with each
/// member under its extension, the key as `__key__`, `.gz` members unpacked, and class numbers as
/// int64. In raw form a key has one member, whose bytes are the record.
/// Errors: `malformed_input` for a key with two members of one extension, or with several in raw
///         form; those of `TarReader`. After an error of a single record, the next one can be read.
std::unique_ptr<FileOpener> make_tar_opener(const SourceOptions& options);

}  // namespace dovetail::detail
