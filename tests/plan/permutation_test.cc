// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/permutation.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/plan/chi_squared.h"
#include "tests/plan/random_source.h"

namespace dovetail::detail {
namespace {

using dovetail::test::deviation;
using dovetail::test::kLimit;
using dovetail::test::RandomSource;

Permutation keyed(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch = 0) {
  return Permutation::keyed(size, Draws(seed, Purpose::runs, epoch, 0));
}

TEST(PermutationTest, IsABijectionWithItsInverse) {
  for (std::uint64_t size = 1; size <= 2000; ++size) {
    const Permutation permutation = keyed(size, size);
    std::vector<bool> seen(size);
    for (std::uint64_t position = 0; position < size; ++position) {
      const std::uint64_t number = permutation(position);
      ASSERT_LT(number, size);
      ASSERT_FALSE(seen[number]) << "size " << size;
      seen[number] = true;
      ASSERT_EQ(permutation.inverse(number), position) << "size " << size;
    }
  }
}

TEST(PermutationTest, InvertsHugeSizes) {
  RandomSource random(1);
  for (const std::uint64_t size :
       {(1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1, (1ull << 40) + 3, (1ull << 55) - 1, (1ull << 61) + 1}) {
    const Permutation permutation = keyed(size, random.word());
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t position = random.below(size);
      const std::uint64_t number = permutation(position);
      ASSERT_LT(number, size);
      ASSERT_EQ(permutation.inverse(number), position) << "size " << size;
    }
  }
}

TEST(PermutationTest, IdentityMovesNothing) {
  const Permutation identity = Permutation::identity(1000);
  EXPECT_EQ(identity.size(), 1000u);
  EXPECT_EQ(identity(999), 999u);
  EXPECT_EQ(identity.inverse(7), 7u);
}

TEST(PermutationTest, EveryPermutationOfAFewIsEquallyLikely) {
  for (const std::uint64_t size : {2u, 3u, 4u, 5u, 6u}) {
    std::map<std::vector<std::uint64_t>, std::uint64_t> times;
    std::uint64_t permutations = 1;
    for (std::uint64_t factor = 2; factor <= size; ++factor) permutations *= factor;
    for (std::uint64_t seed = 0; seed < 300 * permutations; ++seed) {
      const Permutation permutation = keyed(size, seed);
      std::vector<std::uint64_t> numbers;
      for (std::uint64_t position = 0; position < size; ++position) numbers.push_back(permutation(position));
      ++times[numbers];
    }
    ASSERT_EQ(times.size(), permutations);
    std::vector<std::uint64_t> counts;
    for (const auto& [numbers, count] : times) counts.push_back(count);
    EXPECT_LT(std::abs(deviation(counts, permutations - 1)), kLimit) << "size " << size;
  }
}

// Sizes below 256 get more rounds than the others.
TEST(PermutationTest, EveryPositionTakesEveryNumberEquallyOften) {
  for (const std::uint64_t size : {7u, 10u, 30u, 100u, 250u, 260u, 300u}) {
    const std::uint64_t bins = std::min<std::uint64_t>(size, 10);  // of which every size here is a multiple
    std::vector<std::uint64_t> counts(size * bins);
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      const Permutation permutation = keyed(size, seed, 1);
      for (std::uint64_t position = 0; position < size; ++position) {
        ++counts[position * bins + permutation(position) * bins / size];
      }
    }
    EXPECT_LT(std::abs(deviation(counts, (size - 1) * (bins - 1))), kLimit) << "size " << size;
  }
}

TEST(PermutationTest, PairsOfPositionsTakeEveryPairOfNumbersEquallyOften) {
  for (const std::uint64_t size : {12u, 20u}) {
    const std::uint64_t pairs = size * (size - 1);
    // Neighbours in a row, two of one column, and two far apart.
    for (const std::uint64_t other : {std::uint64_t{1}, std::uint64_t{4}, size - 1}) {
      std::vector<std::uint64_t> counts(pairs);
      for (std::uint64_t seed = 0; seed < 200 * pairs; ++seed) {
        const Permutation permutation = keyed(size, seed, 2);
        const std::uint64_t first = permutation(0);
        const std::uint64_t second = permutation(other);
        ++counts[first * (size - 1) + second - (second > first ? 1 : 0)];
      }
      EXPECT_LT(std::abs(deviation(counts, pairs - 1)), kLimit) << "size " << size << " positions 0 and " << other;
    }
  }
}

TEST(PermutationTest, NeighboursDoNotStayNeighbours) {
  // In a random permutation of n, the expected number of positions whose successor holds the next
  // number is 1 - 1/n.
  constexpr std::uint64_t kSize = 400;
  constexpr std::uint64_t kSeeds = 4000;
  std::uint64_t kept = 0;
  std::uint64_t fixed = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Permutation permutation = keyed(kSize, seed, 3);
    std::uint64_t last = kSize;
    for (std::uint64_t position = 0; position < kSize; ++position) {
      const std::uint64_t number = permutation(position);
      if (number == last + 1) ++kept;
      if (number == position) ++fixed;
      last = number;
    }
  }
  EXPECT_NEAR(static_cast<double>(kept) / kSeeds, 1.0, 0.08);
  EXPECT_NEAR(static_cast<double>(fixed) / kSeeds, 1.0, 0.08);
}

}  // namespace
}  // namespace dovetail::detail
