// SPDX-License-Identifier: Apache-2.0
// Patterns for names, which mean the same in every locale.
#pragma once

#include <string_view>

namespace dovetail::format {

/// Returns whether a path contains `*`, `?` or `[`.
bool has_wildcard(std::string_view path) noexcept;

/// Matches a name against a pattern of fnmatch(3), byte by byte: `*` matches any bytes, `?` one
/// byte, `[a-z]` one byte of a set, `[!a-z]` one byte outside it, `[[:digit:]]` one byte of a class.
/// `[*]` matches a star. `[:`, `[.` and `[=` in a set begin a class or an element of fnmatch(3). A
/// `[` that is never closed stands for itself; but if the pattern ends in `-`, or one of these three
/// follows, it may match nothing. A pattern with a NUL byte matches nothing. Names that begin with a
/// dot match only patterns that do. A `/` is a byte like others.
bool matches(std::string_view name, std::string_view pattern);

}  // namespace dovetail::format
