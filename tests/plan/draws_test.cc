// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/draws.h"

#include <set>

#include <gtest/gtest.h>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

// The vectors that the authors of Philox publish with Random123 (kat_vectors).
TEST(PhiloxTest, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  constexpr std::uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxBlock{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (PhiloxBlock{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(DrawsTest, BatchesHoldTheSingleWords) {
  const Draws draws(0x0123456789ABCDEF, Purpose::pool, 0xFFFFFFFF, 0x00FFFFFF);
  // The last two lie on both sides of the block number 2^32.
  for (const std::uint64_t number : {0ull, 1ull, 12345ull, (1ull << 27) - 1, 1ull << 27, (1ull << 51) - 1}) {
    Draws::Batch words;
    draws.batch(number, words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      ASSERT_EQ(words[i], draws.word(number * Draws::kBatch + i)) << "batch " << number << " word " << i;
    }
  }
}

TEST(DrawsTest, EveryCoordinateChangesTheWord) {
  const std::set<std::uint64_t> words{
      Draws(1, Purpose::pool, 2, 3).word(4),          Draws(2, Purpose::pool, 2, 3).word(4),
      Draws(1ull << 32, Purpose::pool, 2, 3).word(4), Draws(1, Purpose::drain, 2, 3).word(4),
      Draws(1, Purpose::pool, 3, 3).word(4),          Draws(1, Purpose::pool, 2, 4).word(4),
      Draws(1, Purpose::pool, 2, 3).word(5),          Draws(1, Purpose::pool, 2, 3).word(4 + (1ull << 33))};
  EXPECT_EQ(words.size(), 8u);
}

TEST(WideMathTest, RootsAreRoundedUp) {
  EXPECT_EQ(square_root_up(0), 0u);
  for (std::uint64_t root = 1; root < 3000; ++root) {
    ASSERT_EQ(square_root_up(root * root), root);
    ASSERT_EQ(square_root_up(root * root + 1), root + 1);
    ASSERT_EQ(square_root_up((root + 1) * (root + 1) - 1), root + 1);
  }
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 31) - 1;
  EXPECT_EQ(square_root_up(kLargest * kLargest), kLargest);
  EXPECT_EQ(square_root_up(kLargest * kLargest - 1), kLargest);
  EXPECT_EQ(square_root_up(kLargest * kLargest + 1), kLargest + 1);
}

TEST(WideMathTest, ProductsKeepTheirHighHalf) {
  constexpr std::uint64_t kMax = ~std::uint64_t{0};
  EXPECT_EQ(scale_below(kMax, 1), 0u);
  EXPECT_EQ(scale_below(kMax, 10), 9u);
  EXPECT_EQ(scale_below(kMax / 2 + 1, 10), 5u);
  EXPECT_EQ(multiply_divide(kMax, kMax, kMax), kMax);
  EXPECT_EQ(multiply_divide(3, 10, 4), 7u);
  EXPECT_TRUE(product_overflows(1ull << 32, 1ull << 32));
  EXPECT_FALSE(product_overflows(1ull << 32, (1ull << 32) - 1));
  EXPECT_EQ(saturating_add(kMax, 1), kMax);
  EXPECT_EQ(saturating_add(kMax - 1, 1), kMax);
  EXPECT_EQ(divide_up(kMax, 2), kMax / 2 + 1);
  // (2^64 + 3) * (2^65 + 5) = 2^129 + 11 * 2^64 + 15
  EXPECT_EQ(multiply({1, 3}, {2, 5}), (Hash128{11, 15}));
  EXPECT_EQ(multiply({0, kMax}, {0, kMax}), (Hash128{kMax - 1, 1}));
}

}  // namespace
}  // namespace dovetail::detail
