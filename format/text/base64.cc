// SPDX-License-Identifier: Apache-2.0
#include "format/text/base64.h"

#include <cstdint>
#include <string_view>

namespace dovetail::format {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    }
    const std::size_t present = bytes.size() - i;
    text += kDigits[bits >> 18];
    text += kDigits[bits >> 12 & 63];
    text += present > 1 ? kDigits[bits >> 6 & 63] : '=';
    text += present > 2 ? kDigits[bits & 63] : '=';
  }
  return text;
}

}  // namespace dovetail::format
