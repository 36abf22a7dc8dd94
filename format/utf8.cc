// SPDX-License-Identifier: Apache-2.0
#include "format/utf8.h"

#include <cstddef>
#include <cstdint>

namespace dovetail::format {

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i++]);
    if (lead < 0x80) continue;
    if (lead < 0xC2 || lead > 0xF4) return false;
    const std::size_t more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (text.size() - i < more) return false;
    // What else is wrong shows in the byte behind the lead: longer forms than needed, surrogates, too large a number.
    const auto second = static_cast<std::uint8_t>(text[i]);
    const std::uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < least || second > most) return false;
    for (std::size_t k = 1; k < more; ++k) {
      if ((static_cast<std::uint8_t>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += more;
  }
  return true;
}

}  // namespace dovetail::format
