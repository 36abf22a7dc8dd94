// SPDX-License-Identifier: Apache-2.0
#include "reader/features/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace dovetail::detail {
namespace {

constexpr std::uint64_t kSumSeed = 20261126;

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum.value();
}

TEST(ExactSumTest, LosesNothingThatCancelsOut) {
  constexpr double kTiny = std::numeric_limits<float>::denorm_min();
  constexpr double kHuge = std::numeric_limits<float>::max();
  constexpr double kLeast = std::numeric_limits<double>::min();
  const struct {
    std::vector<double> values;
    double sum;
  } kCases[] = {
      {{}, 0},
      {{0.0, -0.0}, 0},
      {{1.5}, 1.5},
      {{-1.5}, -1.5},
      {{kTiny}, kTiny},
      {{-kTiny, -kTiny}, -2 * kTiny},
      {{kHuge, kTiny, -kHuge}, kTiny},
      {{kHuge, kHuge, -kHuge, -kHuge, -kTiny}, -kTiny},
      {{std::ldexp(1, 159), 1, -std::ldexp(1, 159)}, 1},
      {{std::ldexp(1, 159), kLeast, -std::ldexp(1, 159)}, kLeast},
      {{-1e-60, -1e-60}, -2e-60},
      {{1, -4294967296.0, 4294967295.0}, 0},
      {std::vector<double>(1000, -0.1F), -100.000001490116119384765625},
  };
  for (const auto& each : kCases) EXPECT_EQ(sum_of(each.values), each.sum) << each.values.size();
}

TEST(ExactSumTest, IsTheSameInEveryOrderAndPartition) {
  std::mt19937_64 draws(kSumSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(1 + draws() % 300);
    for (double& value : values) {
      const auto mantissa = static_cast<float>(static_cast<double>(draws()) * 1e-19 - 0.9);
      value = static_cast<double>(std::ldexp(mantissa, static_cast<int>(draws() % 250) - 130));
    }
    const double expected = sum_of(values);
    std::shuffle(values.begin(), values.end(), draws);
    ExactSum left;
    ExactSum right;
    for (std::size_t i = 0; i < values.size(); ++i) (i % 3 == 0 ? left : right).add(values[i]);
    left.add(right);
    EXPECT_EQ(left.value(), expected) << "seed " << kSumSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace dovetail::detail
