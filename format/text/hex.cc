// SPDX-License-Identifier: Apache-2.0
#include "format/text/hex.h"

#include <string_view>

namespace dovetail::format {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string hex(ByteView bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kHexDigits[value >> 4];
    text += kHexDigits[value & 15];
  }
  return text;
}

std::string hex64(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i > 0; value >>= 4) text[--i] = kHexDigits[value & 15];
  return text;
}

}  // namespace dovetail::format
