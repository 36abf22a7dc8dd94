// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dovetail::format {

/// Whether `text` is UTF-8: the shortest forms only, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

/// Bytes of the character at the start of `rest`, 0 where there is none (overlong, surrogate, above U+10FFFF).
/// Needs: `rest` is not empty.
std::size_t utf8_length(std::string_view rest) noexcept;

/// What is UTF-8 of `bytes`; each byte that is not becomes U+FFFD. A JSON string is UTF-8; a file name or a value of a user
/// need not be.
std::string to_utf8(std::string_view bytes);

/// Without the mark that some editors put before the first byte of a text.
std::string_view without_byte_order_mark(std::string_view text) noexcept;

/// The first `most` bytes, or less, so that no character is cut where `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t most) noexcept;

/// The same, with "..." behind it if anything is cut off.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace dovetail::format
