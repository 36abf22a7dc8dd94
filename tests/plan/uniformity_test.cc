// SPDX-License-Identifier: Apache-2.0
// What the pool and the global order promise, by chi-squared over fixed seeds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "tests/plan/chi_squared.h"
#include "tests/plan/shapes.h"

namespace dovetail::test {
namespace {

/// What the pool makes of inputs that are numbered in their order.
std::vector<std::uint64_t> through_pool(std::uint64_t records, std::uint32_t pool, std::uint64_t seed) {
  return inputs_of_outputs(shape_of({records}, records), {.pool = pool, .seed = seed});
}

TEST(PoolUniformityTest, TheFirstOutputIsAnyOfTheFirstRecords) {
  for (const std::uint32_t pool : {2u, 5u, 64u, 256u}) {
    std::vector<std::uint64_t> counts(pool);
    for (std::uint64_t seed = 0; seed < 200 * pool; ++seed) ++counts[through_pool(pool + 1, pool, seed).front()];
    EXPECT_LT(std::abs(deviation(counts, pool - 1)), kLimit) << "pool " << pool;
  }
}

TEST(PoolUniformityTest, ARecordLeavesWithTheSameChanceAtEveryOutput) {
  // It waits like a coin that is thrown until it falls: with chance 1 / pool at each output,
  // whatever came before.
  constexpr std::uint32_t kPool = 16;
  constexpr std::uint64_t kRecords = 40000;
  const std::vector<std::uint64_t> ids = through_pool(kRecords, kPool, 11);
  constexpr std::size_t kWaits = 64;
  std::vector<double> seen(kWaits + 1);
  double total = 0;
  for (std::uint64_t output = 0; output < kRecords - 10 * kPool; ++output) {
    // Record r enters before output r - kPool + 1; those that were there from the beginning do not
    // count.
    if (ids[output] < kPool) continue;
    const std::uint64_t wait = output + kPool - 1 - ids[output];
    ++seen[std::min<std::size_t>(wait, kWaits)];
    ++total;
  }
  double chi_squared = 0;
  double left = 1;
  for (std::size_t wait = 0; wait <= kWaits; ++wait) {
    const double chance = wait == kWaits ? left : left / kPool;
    left -= chance;
    chi_squared += (seen[wait] - total * chance) * (seen[wait] - total * chance) / (total * chance);
  }
  EXPECT_LT(std::abs(chi_squared - kWaits) / std::sqrt(2.0 * kWaits), kLimit);
}

TEST(PoolUniformityTest, WhatIsLeftAtTheEndLeavesInAnyOrder) {
  constexpr std::uint64_t kRecords = 6;
  std::vector<std::uint64_t> counts(kRecords * kRecords);
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const std::vector<std::uint64_t> ids = through_pool(kRecords, 1u << 20, seed);
    for (std::uint64_t output = 0; output < kRecords; ++output) ++counts[output * kRecords + ids[output]];
  }
  EXPECT_LT(std::abs(deviation(counts, (kRecords - 1) * (kRecords - 1))), kLimit);
}

TEST(GlobalUniformityTest, EveryRecordIsAsLikelyAtEveryPlaceWhateverItsShard) {
  const auto shape = shape_of({1, 0, 7, 3, 9}, 2);
  constexpr std::uint64_t kRecords = 20;
  std::vector<std::uint64_t> counts(kRecords * kRecords);
  for (std::uint32_t epoch = 0; epoch < 8000; ++epoch) {
    const EpochPlan plan =
        Plan::make(shape, {.world = 3, .order = OrderKind::global, .tail = Tail::pad})->epoch(epoch).value();
    std::uint64_t place = 0;
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      for (const std::uint64_t id : ids_of(plan.lane(lane), 0, plan.lane(lane).records())) {
        ++counts[place++ * kRecords + id];
      }
    }
  }
  EXPECT_LT(std::abs(deviation(counts, (kRecords - 1) * (kRecords - 1))), kLimit);
}

}  // namespace
}  // namespace dovetail::test
