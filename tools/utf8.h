// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::tools {

/// A JSON string is UTF-8; a file name or a value of a user need not be. Bytes that are not UTF-8 become U+FFFD.
std::string to_utf8(std::string_view bytes);

/// Whether `bytes` is UTF-8 as it is.
bool is_utf8(std::string_view bytes) noexcept;

/// The first `most` bytes, or less, so that no character is cut where `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t most) noexcept;

}  // namespace dovetail::tools
