// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fails.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {
namespace {

constexpr std::uint64_t kLargest = ~std::uint64_t{0};

TEST(RangeTest, BothEndsMayBeLeftOut) {
  EXPECT_EQ(parse_range("3:5")->first, 3u);
  EXPECT_EQ(parse_range("3:5")->end, 5u);
  EXPECT_EQ(parse_range(":5")->first, 0u);
  EXPECT_EQ(parse_range("3:")->end, std::nullopt);
  EXPECT_EQ(parse_range(":")->end, std::nullopt);
}

TEST(RangeTest, ANumberAloneIsOneRecord) {
  EXPECT_EQ(parse_range("5")->first, 5u);
  EXPECT_EQ(parse_range("5")->end, 6u);
}

TEST(RangeTest, ReachesTheLargestNumber) {
  const auto range = parse_range("18446744073709551615:18446744073709551615");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, kLargest);
  EXPECT_EQ(range->end, kLargest);
}

TEST(RangeTest, RefusesWhatIsNoRange) {
  for (const char* text : {"", "18446744073709551615", "5:4", "a:b", "1:2:3", "-1:2", "1:-2", " 1:2", "1:2 ", "+1:2",
                           "0x1:2", "18446744073709551616:", "1.5:2"}) {
    EXPECT_THAT(parse_range(text), test::Fails(Errc::invalid_option)) << text;
  }
}

}  // namespace
}  // namespace dovetail::tools
