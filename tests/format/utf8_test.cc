// SPDX-License-Identifier: Apache-2.0
#include "format/text/utf8.h"

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace dovetail::format {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

TEST(Utf8Test, GoodTextIsKept) {
  for (const std::string_view text :
       {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x82\xA1", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(to_utf8(text), text);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(Utf8Test, BytesThatAreNoUtf8AreReplaced) {
  // A lone continuation, an overlong slash, a surrogate, a number above U+10FFFF, a cut sequence, a
  // byte never used.
  for (const std::string_view text :
       {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF", "\xE0\x80\x80"}) {
    const std::string fixed = to_utf8(text);
    EXPECT_EQ(fixed.find_first_not_of(kReplacement), std::string::npos);
    EXPECT_EQ(fixed.size(), text.size() * kReplacement.size());
    EXPECT_FALSE(is_utf8(text));
  }
  EXPECT_EQ(to_utf8("a\xFFz"), "a" + std::string(kReplacement) + "z");
}

TEST(Utf8Test, AByteOrderMarkCountsAtTheBeginningOnly) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBFtext"), "text");
  EXPECT_EQ(without_byte_order_mark("text\xEF\xBB\xBF"), "text\xEF\xBB\xBF");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB"), "\xEF\xBB");
}

TEST(Utf8Test, IsCutBetweenCharacters) {
  const std::string_view text = "a\u00E9\u20AC\U0001F600";  // 1, 2, 3 and 4 bytes
  constexpr std::size_t kEnds[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t most = 0; most < std::size(kEnds); ++most) {
    EXPECT_EQ(utf8_prefix(text, most), text.substr(0, kEnds[most])) << "at most " << most << " bytes";
  }
  EXPECT_EQ(utf8_prefix("\x80\x80\x80\x80\x80\x80", 4).size(), 1u) << "no UTF-8: cut anywhere, but cut";
  EXPECT_EQ(shortened(text, 5), "a\u00E9...");
  EXPECT_EQ(shortened(text, 10), text);
}

}  // namespace
}  // namespace dovetail::format
