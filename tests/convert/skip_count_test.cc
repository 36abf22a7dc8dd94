// SPDX-License-Identifier: Apache-2.0
// What was left out: an exact count, few names, and each share by who reads it.
#include "sources/bytes/skip_count.h"

#include <string>

#include <gtest/gtest.h>

namespace dovetail::detail {
namespace {

SkippedRecord skipped(std::uint64_t place) {
  return {.error = Error(Errc::malformed_input, "of " + std::to_string(place)).at("file", place)};
}

TEST(SkipTallyTest, CountsAllAndNamesTheFirst) {
  SkipTally tally;
  for (std::uint64_t place = 100'000; place-- > 0;) tally.add(place, skipped(place));
  EXPECT_EQ(tally.count(), 100'000u);
  const auto first = tally.first();
  ASSERT_EQ(first.size(), SkipTally::kShown);
  for (std::uint64_t i = 0; i != first.size(); ++i) EXPECT_EQ(first[i].error.offset(), i);
}

TEST(SkipTallyTest, NamesEqualErrorsOnce) {
  SkipTally tally;
  for (std::uint64_t place = 0; place != 500; ++place) tally.add(place, skipped(7));
  tally.add(8, skipped(8));
  ASSERT_EQ(tally.first().size(), 2u);
  EXPECT_EQ(tally.first()[0].records, 500u);
  SkipTally other;
  other.add(1, skipped(7));
  other.add(tally);
  EXPECT_EQ(other.count(), 502u);
  EXPECT_EQ(other.first()[0].records, 501u);
}

TEST(ShareSkipsTest, KeepsSharesApartAndFewNames) {
  ShareSkips skips;
  for (std::uint64_t place = 0; place != 10'000; ++place) skips.add(place / 10, place, skipped(place));
  EXPECT_EQ(skips.take(0).first().size(), 10u);
  const SkipTally third = skips.take(2);
  EXPECT_EQ(third.count(), 10u);
  EXPECT_EQ(third.named(), 0u) << "20 others come before";
  EXPECT_EQ(skips.take(1).count(), 0u) << "it was passed";
  EXPECT_EQ(skips.take(999).count(), 10u);
  skips.add(1000, 10'000, skipped(10'000));
  EXPECT_EQ(skips.take(1000).named(), 1u);
}

}  // namespace
}  // namespace dovetail::detail
