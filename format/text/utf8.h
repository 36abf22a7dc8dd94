// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dovetail::format {

/// Returns whether `text` is UTF-8: only shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

/// Returns the bytes of the character at the start of `rest`, or 0 if it is malformed (overlong,
/// surrogate, above U+10FFFF).
/// Needs: `rest` is not empty.
std::size_t utf8_length(std::string_view rest) noexcept;

/// Replaces each byte that is not UTF-8 by U+FFFD. A JSON string must be UTF-8; a file name or a
/// user's value may not be.
std::string to_utf8(std::string_view bytes);

/// Removes the byte order mark that some editors put before a text.
std::string_view without_byte_order_mark(std::string_view text) noexcept;

/// Returns the first `most` bytes, or fewer, so that no character of a UTF-8 text is cut.
std::string_view utf8_prefix(std::string_view text, std::size_t most) noexcept;

/// Returns the same, with "..." behind it if anything is cut off.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace dovetail::format
