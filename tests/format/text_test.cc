// SPDX-License-Identifier: Apache-2.0
// Bytes, numbers and counts as text.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "dovetail/bytes.h"
#include "format/text/base64.h"
#include "format/text/count_of.h"
#include "format/text/hex.h"
#include "format/text/lower_case.h"
#include "format/text/number_text.h"
#include "format/text/shell_quoted.h"

namespace dovetail::format {
namespace {

TEST(HexTest, HasTwoLowerCaseDigitsForEachByte) {
  EXPECT_EQ(hex({}), "");
  EXPECT_EQ(hex(as_bytes(std::string_view("\x00\x0F\xA0\xFF", 4))), "000fa0ff");
}

TEST(HexTest, Has16DigitsForANumber) {
  EXPECT_EQ(hex64(0), "0000000000000000");
  EXPECT_EQ(hex64(0x0123456789ABCDEF), "0123456789abcdef");
  EXPECT_EQ(hex64(UINT64_MAX), "ffffffffffffffff");
}

TEST(ShellQuotedTest, QuotesWhatAShellWouldNotTakeAsItIs) {
  EXPECT_EQ(shell_quoted("a/b-1.dvt"), "a/b-1.dvt");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("two words"), "'two words'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_path("-i t"), "'./-i t'") << "not a flag";
}

// The vectors of RFC 4648, section 10, and the two digits that are neither letters nor numbers.
TEST(Base64Test, IsThatOfRfc4648) {
  constexpr std::pair<std::string_view, std::string_view> kVectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {"\xFB\xFF\xFE", "+//+"},
  };
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(to_base64(as_bytes(bytes)), text);
    std::string url(text.substr(0, text.find('=')));
    for (char& digit : url) digit = digit == '+' ? '-' : digit == '/' ? '_' : digit;
    EXPECT_EQ(to_base64url(as_bytes(bytes)), url);
    const auto back = from_base64url(url);
    ASSERT_TRUE(back.has_value()) << url;
    EXPECT_EQ(as_chars(*back), bytes);
  }
}

TEST(Base64Test, RefusesWhatItCannotHaveWritten) {
  for (const char* text : {"Z", "Zh", "Zm9", "Zg==", "Zm9v+", "Zm9v Zm9v"}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
}

TEST(CountOfTest, HasAPluralForAllNumbersButOne) {
  EXPECT_EQ(count_of(0, "file"), "0 files");
  EXPECT_EQ(count_of(1, "file"), "1 file");
  EXPECT_EQ(count_of(UINT64_MAX, "file"), "18446744073709551615 files");
  EXPECT_EQ(count_of(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(count_of(2, "entry", "entries"), "2 entries");
}

TEST(HumanBytesTest, HasPowersOf1024) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 40), "1.0 TiB");
  EXPECT_EQ(human_bytes(~std::uint64_t{0}), "16.0 EiB");
}

TEST(NumberTextTest, ParsesWholeTextsInRange) {
  EXPECT_EQ(parse_number<std::uint32_t>("4294967295"), 4294967295u);
  EXPECT_EQ(parse_number<std::int64_t>("-007"), -7);
  EXPECT_EQ(parse_number<double>("2.5e-1"), 0.25);
  for (const char* text : {"", "4294967296", "-1", "+1", " 1", "1 ", "1.5", "0x1", "one"}) {
    EXPECT_EQ(parse_number<std::uint32_t>(text), std::nullopt) << text;
  }
}

TEST(NumberTextTest, PadsToAtLeastTheDigits) {
  EXPECT_EQ(padded(0, 5), "00000");
  EXPECT_EQ(padded(99'999, 5), "99999");
  EXPECT_EQ(padded(100'000, 5), "100000");
}

TEST(LowerCaseTest, ChangesLettersOfAsciiOnly) {
  EXPECT_EQ(lower_case("@AZ[`az{.TAR.GZ"), "@az[`az{.tar.gz");
  EXPECT_EQ(lower_case("\xC3\x84"), "\xC3\x84");
}

}  // namespace
}  // namespace dovetail::format
