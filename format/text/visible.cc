// SPDX-License-Identifier: Apache-2.0
#include "format/text/visible.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "format/text/utf8.h"

namespace dovetail::format {

namespace {

std::string escaped(const char* form, std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), form, static_cast<unsigned>(value));
  return text.data();
}

std::uint32_t code_point(std::string_view character) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
  if (character.size() == 3) return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

bool is_control(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

// Separators of lines and paragraphs, explicit formatting of the Unicode Bidirectional Algorithm
// (UAX 9), and characters without width. With these, two different names could look alike.
bool is_hidden(std::uint32_t code) noexcept {
  const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  return is_control(code) || code == 0x061C || within(0x200B, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2060, 0x2064) || within(0x2066, 0x2069) || code == 0xFEFF || within(0xE0000, 0xE007F);
}

std::string escape(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  if (code > 0xFFFF) return escaped("\\U%08x", code);
  return escaped(code < 0x80 ? "\\x%02x" : "\\u%04x", code);
}

// JSON escapes hold UTF-16.
std::string escape_in_json(std::uint32_t code) {
  if (code <= 0xFFFF) return escaped("\\u%04x", code);
  return escaped("\\u%04x", 0xD7C0 + (code >> 10)) + escaped("\\u%04x", 0xDC00 | (code & 0x3FF));
}

std::string make_visible(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      shown += escaped("\\x%02x", static_cast<unsigned char>(character.front()));
    } else if (const std::uint32_t code = code_point(character);
               is_hidden(code) && kept.find(character) == std::string_view::npos) {
      shown += escape(code);
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace

std::string visible(std::string_view text) {
  return make_visible(text, {});
}

std::string visible_lines(std::string_view text) {
  return make_visible(text, "\n\t");
}

std::string visible_json(std::string json) {
  // The first bytes of all hidden characters. The loop skips all other bytes.
  constexpr std::string_view kBegins = "\x7F\xC2\xD8\xE2\xEF\xF3";
  const std::string_view text = json;
  std::string shown;
  std::size_t taken = 0;
  for (std::size_t at = text.find_first_of(kBegins); at != text.npos; at = text.find_first_of(kBegins, at)) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text.substr(at)), 1);
    const std::uint32_t code = code_point(text.substr(at, length));
    if (is_hidden(code)) {
      shown += text.substr(taken, at - taken);
      shown += escape_in_json(code);
      taken = at + length;
    }
    at += length;
  }
  if (taken == 0) return json;
  shown += text.substr(taken);
  return shown;
}

}  // namespace dovetail::format
