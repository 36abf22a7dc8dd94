// SPDX-License-Identifier: Apache-2.0
// Patterns for names. Unlike fnmatch(3) they mean the same in every locale.
#pragma once

#include <string_view>

namespace dovetail::format {

/// Whether a path holds `*`, `?` or `[`.
bool has_wildcard(std::string_view path) noexcept;

/// Whether a name matches a pattern, byte by byte: `*` any bytes, `?` one, `[a-z]` one of a set, `[!a-z]`
/// one outside it. A `[` that is never closed stands for itself, and so does every byte in a set: `[*]` matches a star.
/// Names that begin with a dot match only patterns that do. A `/` is a byte like others.
bool matches(std::string_view name, std::string_view pattern) noexcept;

}  // namespace dovetail::format
