// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace dovetail {

/// Bytes that somebody else owns.
using ByteView = std::span<const std::byte>;

/// The bytes of a string. Ownership: borrows `text`.
inline ByteView as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The same bytes as characters. Ownership: borrows `bytes`.
inline std::string_view as_chars(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace dovetail
