// SPDX-License-Identifier: Apache-2.0
#include "tools/render.h"

#include <gtest/gtest.h>

namespace dovetail::tools {
namespace {

TEST(RenderTest, BytesAreShownInPowersOf1024) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 40), "1.0 TiB");
  EXPECT_EQ(human_bytes(~std::uint64_t{0}), "16.0 EiB");
}

TEST(RenderTest, HexHasTwoDigitsPerByteAndSixteenPerNumber) {
  EXPECT_EQ(hex(as_bytes(std::string_view("\x00\x7f\xff", 3))), "007fff");
  EXPECT_EQ(hex({}), "");
  EXPECT_EQ(hex64(0), "0000000000000000");
  EXPECT_EQ(hex64(0x0123456789abcdef), "0123456789abcdef");
}

TEST(RenderTest, DumpShowsOffsetBytesAndText) {
  EXPECT_EQ(hex_dump({}), "");
  EXPECT_EQ(hex_dump(as_bytes(std::string_view("0123456789abcdef\x01z", 18))),
            "00000000   30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|\n"
            "00000010   01 7a                                             |.z|\n");
}

TEST(RenderTest, ListingAlignsItsValues) {
  Listing listing;
  listing.add("a", 1);
  listing.add("longer", "value");
  EXPECT_EQ(listing.to_text(), "a       1\nlonger  value\n");
}

TEST(RenderTest, TableAlignsNumbersRightAndLastTextLeft) {
  Table table({"n", "name"}, /*text_last=*/true);
  table.add({"100", "x"});
  table.add({"7", "long name"});
  EXPECT_EQ(table.to_text(), "  n  name\n100  x\n  7  long name\n");
}

}  // namespace
}  // namespace dovetail::tools
