// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Whether a path holds `*`, `?` or `[`.
bool has_wildcard(std::string_view path) noexcept;

/// Whether one path component matches a pattern, byte by byte: `*` any bytes, `?` one, `[a-z]` one of a set, `[!a-z]`
/// one outside it. A `[` that is never closed stands for itself, and so does every byte in a set: `[*]` matches a star.
/// Names that begin with a dot match only patterns that do.
bool matches(std::string_view name, std::string_view pattern) noexcept;

/// A pattern, in quotes, for the shards of one folder, whatever characters are in its name.
std::string shard_pattern(std::string_view folder);

/// What a pattern stands for.
struct GlobMatches {
  std::string folder;              ///< The components before the first with a wildcard; may be empty.
  std::vector<std::string> files;  ///< Relative to `folder`, in bytewise order; no folders that are known to be ones.
};

/// Finds the files that match a pattern. Its components are matched one by one, so no wildcard matches a `/`.
/// Errors: the system's, for a folder that cannot be listed.
Result<GlobMatches> expand_glob(const std::string& pattern);

}  // namespace dovetail::detail
