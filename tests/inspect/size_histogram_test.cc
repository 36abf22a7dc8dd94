// SPDX-License-Identifier: Apache-2.0
#include "inspect/size_histogram.h"

#include <limits>

#include <gtest/gtest.h>

namespace dovetail::inspect {
namespace {

TEST(SizeHistogramTest, WithoutRecordsThereIsNoBucket) {
  const SizeHistogram sizes;
  EXPECT_TRUE(sizes.buckets().empty());
  EXPECT_EQ(sizes.records(), 0u);
  EXPECT_EQ(sizes.most(), 0u);
}

TEST(SizeHistogramTest, EmptyRecordsHaveABucketOfTheirOwn) {
  SizeHistogram sizes;
  sizes.add(0);
  sizes.add(1);
  const auto buckets = sizes.buckets();
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].last, 0u);
  EXPECT_EQ(buckets[1].from, 1u);
  EXPECT_EQ(buckets[1].last, 1u);
}

TEST(SizeHistogramTest, EverySizeFallsIntoTheBucketThatNamesIt) {
  for (int bit = 1; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t bytes : {power - 1, power, power + 1, 2 * power - 1}) {
      SizeHistogram sizes;
      sizes.add(bytes, 3);
      const auto buckets = sizes.buckets();
      ASSERT_EQ(buckets.size(), 1u) << bytes;
      EXPECT_LE(buckets[0].from, bytes);
      EXPECT_GE(buckets[0].last, bytes);
      EXPECT_EQ(buckets[0].records, 3u);
    }
  }
}

TEST(SizeHistogramTest, BucketsLeaveNoGapBetweenTheSmallestAndTheLargest) {
  SizeHistogram sizes;
  sizes.add(5);
  sizes.add(std::numeric_limits<std::uint64_t>::max(), 7);
  const auto buckets = sizes.buckets();
  ASSERT_EQ(buckets.size(), 62u);
  for (std::size_t i = 1; i < buckets.size(); ++i) EXPECT_EQ(buckets[i].from, buckets[i - 1].last + 1);
  EXPECT_EQ(buckets.back().last, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(sizes.most(), 7u);
  EXPECT_EQ(sizes.records(), 8u);
}

}  // namespace
}  // namespace dovetail::inspect
