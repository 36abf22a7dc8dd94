// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/digest.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "reader/plan/hash_words.h"
#include "tests/plan/random_source.h"

namespace dovetail::detail {
namespace {

using dovetail::test::RandomSource;

Hash128 sum_one_by_one(std::uint64_t first, std::uint64_t count) {
  Hash128 sum;
  for (std::uint64_t id = first; id < first + count; ++id) sum += record_digest(id);
  return sum;
}

TEST(DigestSumsTest, RangesAddUpToTheirIds) {
  constexpr std::uint64_t kIds = std::uint64_t{1} << 55;
  const DigestSums sums(kIds);
  EXPECT_EQ(sums.over(5, 0), Hash128{});
  EXPECT_EQ(sums.over(0, 65536), sum_one_by_one(0, 65536));
  EXPECT_EQ(sums.over(65535, 2), sum_one_by_one(65535, 2));
  EXPECT_EQ(sums.over(1, 200000), sum_one_by_one(1, 200000));
  RandomSource random(3);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t count = random.below(3000);
    const std::uint64_t first = random.below(kIds - count);
    ASSERT_EQ(sums.over(first, count), sum_one_by_one(first, count)) << first << " + " << count;
  }
}

TEST(DigestSumsTest, FewIdsNeedNoFullTable) {
  for (const std::uint64_t ids : {1ull, 2ull, 100ull, 65535ull, 65536ull, 65537ull}) {
    EXPECT_EQ(DigestSums(ids).over(0, ids), sum_one_by_one(0, ids)) << ids;
  }
}

TEST(RecordDigestTest, TellsIdsAndPairsOfIdsApart) {
  std::set<Hash128> digests;
  std::set<Hash128> pairs;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t high = 0; high < 12; ++high) {
    for (std::uint64_t low = 0; low < 12; ++low) ids.push_back(high << 16 | low);
  }
  for (const std::uint64_t a : ids) {
    digests.insert(record_digest(a));
    for (const std::uint64_t b : ids) {
      if (a <= b) pairs.insert(record_digest(a) + record_digest(b));
    }
  }
  EXPECT_EQ(digests.size(), ids.size());
  EXPECT_EQ(pairs.size(), ids.size() * (ids.size() + 1) / 2);
}

TEST(HashWordsTest, LengthOrderAndEveryWordCount) {
  const std::vector<std::vector<std::uint64_t>> lists{
      {}, {0}, {0, 0}, {1}, {1, 0}, {0, 1}, {1, 2}, {2, 1}, {std::uint64_t{1} << 63}, {1, 2, 3}, {1, 2, 4}};
  std::set<Hash128> hashes;
  for (const auto& list : lists) hashes.insert(hash_words(list));
  EXPECT_EQ(hashes.size(), lists.size());
}

}  // namespace
}  // namespace dovetail::detail
