// SPDX-License-Identifier: Apache-2.0
#include "reader/features/hyper_log_log.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "reader/features/value_sketch.h"

namespace dovetail::detail {
namespace {

HyperLogLog sketch_of(std::uint64_t count, std::uint64_t first, std::uint64_t stride, unsigned precision = 14) {
  HyperLogLog sketch(precision);
  for (std::uint64_t i = 0; i < count; ++i) sketch.add(mix_bits(first + i * stride));
  return sketch;
}

TEST(HyperLogLogTest, IsWithinTwoPerCentAtEverySize) {
  // Ids in sequence, multiples, and floats in sequence: what hashes have to mix.
  for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1} << 32}) {
    for (std::uint64_t count = 1; count <= 4'000'000; count = count * 3 / 2 + 1) {
      const double estimate = sketch_of(count, 17, stride).estimate();
      EXPECT_NEAR(estimate, static_cast<double>(count), 0.02 * static_cast<double>(count) + 0.5)
          << count << " numbers, stride " << stride;
    }
  }
}

TEST(HyperLogLogTest, FloatsAreWithinTwoPerCentAtEverySize) {
  // Up to 4 million of them are different.
  const auto number = [](std::uint64_t i) { return static_cast<float>(i); };
  const auto tenth = [](std::uint64_t i) { return static_cast<float>(i) / 10; };
  const auto negative = [](std::uint64_t i) { return -1 - static_cast<float>(i) / 1'048'576; };
  const auto bits = [](std::uint64_t i) { return std::bit_cast<float>(static_cast<std::uint32_t>(i + 17)); };
  const auto exponent = [](std::uint64_t i) { return std::bit_cast<float>(static_cast<std::uint32_t>(i) << 9); };
  for (float (*const value)(std::uint64_t) : {+number, +tenth, +negative, +bits, +exponent}) {
    HyperLogLog sketch;
    std::uint64_t added = 0;
    for (std::uint64_t count = 1; count <= 4'000'000; count = count * 3 / 2 + 1) {
      std::vector<float> values;
      while (added < count) values.push_back(value(added++));
      sketch.add(values);
      const auto exact = static_cast<double>(count);
      ASSERT_NEAR(sketch.estimate(), exact, 0.02 * exact + 0.5) << "from " << value(0) << ", " << value(1);
    }
  }
}

TEST(HyperLogLogTest, ManyFloatsAtOnceGiveWhatTheirHashesGive) {
  constexpr std::uint64_t kSeed = 20261129;
  std::mt19937_64 draws(kSeed);
  for (const unsigned precision : {HyperLogLog::kLeastPrecision, HyperLogLog::kMostPrecision}) {
    HyperLogLog at_once(precision);
    HyperLogLog one_by_one(precision);
    for (int round = 0; round < 3000; ++round) {
      std::vector<float> values(draws() % 1200);  // all kinds: also NaNs, infinities, zeros of both signs
      for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(draws()));
      if (!values.empty()) values[draws() % values.size()] = round % 2 == 0 ? 0.0F : -0.0F;
      at_once.add(values);
      for (const float value : values) one_by_one.add(hash_of(static_cast<double>(value)));
      if (round % 100 > 0) continue;
      ASSERT_EQ(at_once.estimate(), one_by_one.estimate()) << "seed " << kSeed << ", round " << round;
    }
  }
}

TEST(HyperLogLogTest, AllNansAreOneValueAndSoAreBothZeros) {
  HyperLogLog sketch;
  for (const std::uint32_t bits : {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFFFFFFFFU, 0x00000000U, 0x80000000U}) {
    sketch.add(std::vector<float>(100, std::bit_cast<float>(bits)));
    sketch.add(hash_of(static_cast<double>(std::bit_cast<float>(bits))));
  }
  EXPECT_EQ(std::llround(sketch.estimate()), 2);
}

TEST(HyperLogLogTest, ItsErrorIsTheStandardErrorThatItNames) {
  for (const unsigned precision : {HyperLogLog::kLeastPrecision, 11U, HyperLogLog::kMostPrecision}) {
    double squares = 0;
    constexpr int kRounds = 60;
    for (int round = 0; round < kRounds; ++round) {
      const double count = 50'000;
      const HyperLogLog sketch = sketch_of(50'000, static_cast<std::uint64_t>(round) << 40, 1, precision);
      squares += std::pow(sketch.estimate() / count - 1, 2);
    }
    const double error = std::sqrt(squares / kRounds);
    const double named = HyperLogLog(precision).standard_error();
    EXPECT_LT(error, 1.3 * named) << precision;
    EXPECT_GT(error, 0.7 * named) << precision;
  }
}

TEST(HyperLogLogTest, ManyHashesAtOnceGiveWhatTheyGiveOneByOne) {
  constexpr std::uint64_t kSeed = 20261128;
  std::mt19937_64 draws(kSeed);
  for (const unsigned precision : {HyperLogLog::kLeastPrecision, HyperLogLog::kMostPrecision}) {
    HyperLogLog at_once(precision);
    HyperLogLog one_by_one(precision);
    for (int round = 0; round < 4000; ++round) {
      std::vector<std::uint64_t> hashes(draws() % 1200);
      for (std::uint64_t& hash : hashes) hash = draws() >> (draws() % 64 == 0 ? draws() % 64 : 0);
      at_once.add(hashes);
      for (const std::uint64_t hash : hashes) one_by_one.add(hash);
      if (round == 2500 && precision > HyperLogLog::kLeastPrecision) {
        at_once.make_coarser(precision - 3);
        one_by_one.make_coarser(precision - 3);
      }
      if (round % 100 > 0) continue;
      ASSERT_EQ(at_once.estimate(), one_by_one.estimate()) << "seed " << kSeed << ", round " << round;
    }
    at_once.merge(sketch_of(30'000, 0, 1, 10));
    one_by_one.merge(sketch_of(30'000, 0, 1, 10));
    EXPECT_EQ(at_once.estimate(), one_by_one.estimate());
  }
}

TEST(HyperLogLogTest, NothingIsNothing) {
  EXPECT_EQ(HyperLogLog().estimate(), 0);
  EXPECT_EQ(HyperLogLog(HyperLogLog::kLeastPrecision).estimate(), 0);
}

TEST(HyperLogLogTest, HashesAtTheEndsOfTheRangeCount) {
  HyperLogLog sketch;
  for (const std::uint64_t hash : {std::uint64_t{0}, ~std::uint64_t{0}}) sketch.add(hash);
  EXPECT_NEAR(sketch.estimate(), 2, 0.01);
}

TEST(HyperLogLogTest, MadeCoarserItIsAsIfItHadBeenFromTheStart) {
  for (unsigned precision = HyperLogLog::kLeastPrecision; precision <= HyperLogLog::kMostPrecision; ++precision) {
    for (const std::uint64_t count : {0U, 1U, 10U, 1000U, 100'000U}) {
      HyperLogLog sketch = sketch_of(count, 3, 7);
      sketch.make_coarser(precision);
      EXPECT_EQ(sketch.estimate(), sketch_of(count, 3, 7, precision).estimate()) << precision << ", " << count;
    }
  }
}

TEST(HyperLogLogTest, MergesToTheSketchOfAll) {
  for (const unsigned precision : {14U, 9U}) {
    HyperLogLog left = sketch_of(30'000, 0, 1);
    left.merge(sketch_of(30'000, 20'000, 1, precision));
    EXPECT_EQ(left.estimate(), sketch_of(50'000, 0, 1, precision).estimate());
    EXPECT_EQ(left.standard_error(), HyperLogLog(precision).standard_error());
  }
}

}  // namespace
}  // namespace dovetail::detail
