// SPDX-License-Identifier: Apache-2.0
#include "format/text/visible.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include <dovetail/error.h>

#include "format/text/utf8.h"

namespace dovetail::format {
namespace {

using namespace std::string_literals;

TEST(VisibleTest, WhatMovesATerminalIsEscaped) {
  const std::pair<std::string, const char*> cases[] = {
      {"plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \\n", "plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \\n"},
      {"a\nb\tc\rd\0e"s, "a\\nb\\tc\\rd\\x00e"},
      {"\x1B[31mred\x7F", "\\x1b[31mred\\x7f"},
      {"\xC2\x9B"
       "31m\xC2\xA0",
       "\\u009b31m\xC2\xA0"},
      {"\xE2\x80\xAE"
       "gpj.exe\xE2\x81\xA9\xD8\x9C\xE2\x80\xA8\xE2\x80\x8E",
       "\\u202egpj.exe\\u2069\\u061c\\u2028\\u200e"},
      {"a\xE2\x80\x8B\xE2\x80\x8D\xE2\x81\xA0\xE2\x81\xA4\xEF\xBB\xBF\xF3\xA0\x81\x81z",
       "a\\u200b\\u200d\\u2060\\u2064\\ufeff\\U000e0041z"},
      {"\xFF\xC3(\xED\xA0\x80", "\\xff\\xc3(\\xed\\xa0\\x80"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(visible(text), shown);
  EXPECT_EQ(visible_lines("a\n\tb\r\x1B"), "a\n\tb\\r\\x1b");
}

TEST(VisibleTest, JsonStaysTheSameJson) {
  EXPECT_EQ(visible_json("{\"\xC2\x9B\xE2\x80\xAE\":\"\x7F \xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\"}"),
            "{\"\\u009b\\u202e\":\"\\u007f \xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\"}");
  EXPECT_EQ(visible_json("\"\xEF\xBB\xBF\xEF\xBC\x81\xF3\xA0\x81\x81\xF3\xB0\x80\x80\""),
            "\"\\ufeff\xEF\xBC\x81\\udb40\\udc41\xF3\xB0\x80\x80\"");
}

TEST(VisibleTest, WhateverTheBytesTheTextIsUtf8OfOneLine) {
  std::mt19937 chance(231);  // the same on every machine
  for (int round = 0; round < 20'000; ++round) {
    std::string text(chance() % 12, '\0');
    for (char& c : text) c = static_cast<char>(chance() % 4 == 0 ? 0xC0 + chance() % 64 : chance() % 256);
    const std::string shown = visible(text);
    EXPECT_TRUE(is_utf8(shown)) << round;
    EXPECT_EQ(visible(shown), shown) << round;
    EXPECT_EQ(shown.find_first_of("\n\r\x1B\x7F\0"s), std::string::npos) << round;
  }
}

TEST(VisibleTest, ErrorsAreOneLine) {
  const Error error = Error(Errc::truncated, "tar key 'a\n\x1B[2J'").at("d\x1B/\xFF.dvt", 5);
  EXPECT_EQ(error.to_string(), "d\\x1b/\\xff.dvt:5: truncated: tar key 'a\\n\\x1b[2J'");
  EXPECT_EQ(error.path(), "d\x1B/\xFF.dvt");
}

}  // namespace
}  // namespace dovetail::format
