// SPDX-License-Identifier: Apache-2.0
#include "tools/command/render.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/command/progress.h"

namespace dovetail::tools {
namespace {

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

TEST(RenderTest, ColoursChangeNoColumn) {
  Table table({"n", "name"}, /*text_last=*/true);
  table.add({"7", "x"});
  EXPECT_EQ(table.to_text({.on = true}), "\x1B[1mn  name\x1B[0m\n7  x\n");
  Listing listing;
  listing.add("a", 1);
  listing.add("longer", "value");
  EXPECT_EQ(listing.to_text({.on = true}), "\x1B[36ma\x1B[0m       1\n\x1B[36mlonger\x1B[0m  value\n");
}

TEST(RenderTest, DurationsHaveTwoUnitsAtMost) {
  EXPECT_EQ(duration(0), "0 s");
  EXPECT_EQ(duration(-1), "0 s");
  EXPECT_EQ(duration(59.9), "59 s");
  EXPECT_EQ(duration(60), "1 min 00 s");
  EXPECT_EQ(duration(3599), "59 min 59 s");
  EXPECT_EQ(duration(3600), "1 h 00 min");
  EXPECT_EQ(duration(100'000), "27 h 46 min");
  EXPECT_EQ(duration(1e300), "8333333 h 20 min");
}

TEST(ProgressTest, SaysRecordsBytesRateAndTimeLeft) {
  EXPECT_EQ(progress_text("reading", 10, 2048, 0.25, 2), "reading: 10 records, 2.0 KiB, 1.0 KiB/s, 25 %, 6 s left");
  EXPECT_EQ(progress_text("reading", 10, 2048, 1, 2), "reading: 10 records, 2.0 KiB, 1.0 KiB/s, 100 %, 0 s left");
}

TEST(ProgressTest, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_text("reading", 1, 100, -1, 2), "reading: 1 record, 100 B, 50 B/s");
  EXPECT_EQ(progress_text("reading", 1, 100, 0, 2), "reading: 1 record, 100 B, 50 B/s, 0 %");
  EXPECT_EQ(progress_text("reading", 0, 0, 0, 0), "reading: 0 records, 0 B, 0 %");
}

}  // namespace
}  // namespace dovetail::tools
