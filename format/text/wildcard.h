// SPDX-License-Identifier: Apache-2.0
// Patterns for names, which mean the same in every locale.
#pragma once

#include <string_view>

namespace dovetail::format {

/// Returns whether a path contains `*`, `?` or `[`.
bool has_wildcard(std::string_view path) noexcept;

/// Matches a name against a pattern of fnmatch(3), byte by byte: `*` matches any bytes, `?` one
/// byte, `[a-z]` one byte of a set, `[!a-z]` one byte outside it, `[[:digit:]]` one byte of a class.
/// A `[` that is never closed stands for itself, unless a range or a class begins in it; and `[*]`
/// matches a star. Names that begin with a dot match only patterns that do. A `/` is a byte like
/// others.
bool matches(std::string_view name, std::string_view pattern);

}  // namespace dovetail::format
