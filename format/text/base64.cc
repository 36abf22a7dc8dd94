// SPDX-License-Identifier: Apache-2.0
#include "format/text/base64.h"

#include <cstdint>

namespace dovetail::format {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encoded(ByteView bytes, std::string_view digits) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::byte byte : bytes) {
    bits = bits << 8 | std::to_integer<std::uint32_t>(byte);
    for (count += 8; count >= 6; count -= 6) text += digits[bits >> (count - 6) & 63];
  }
  if (count > 0) text += digits[bits << (6 - count) & 63];
  return text;
}

}  // namespace

std::string to_base64(ByteView bytes) {
  std::string text = encoded(bytes, kDigits);
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string to_base64url(ByteView bytes) {
  return encoded(bytes, kUrlDigits);
}

std::optional<std::vector<std::byte>> from_base64url(std::string_view text) {
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const std::size_t value = kUrlDigits.find(digit);
    if (value == kUrlDigits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count));
  }
  // The unused bits of the last digit must be 0. A single last digit holds no whole byte.
  if (count >= 6 || (bits & ((1u << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace dovetail::format
