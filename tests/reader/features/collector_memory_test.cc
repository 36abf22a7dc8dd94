// SPDX-License-Identifier: Apache-2.0
// What a collector takes from the allocator, against its promise.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/features.h>

#include "tests/reader/features/feature_records.h"
#include "tests/support/replaced_new.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kSeed = 20261129;
constexpr std::size_t kBudget = std::size_t{4} << 20;
constexpr std::size_t kBeside = std::size_t{1536} << 10;  // see `FeatureCollector`
constexpr std::size_t kFeatureOfRecord = 350;

std::string name_of(int feature) {
  return "f" + std::to_string(1000 + feature);
}

TEST(CollectorMemoryTest, NumbersOfManyFeaturesFitThePromise) {
  constexpr int kFeatures = 260;  // more than have a batch; their numbers fill the budget
  std::mt19937_64 draws(kSeed);
  const std::size_t before = allocated_bytes();
  FeatureCollector collector(kBudget);
  std::size_t most = 0;
  for (std::uint64_t id = 0; id < 3000; ++id) {
    std::vector<std::int64_t> tokens(3);
    std::string record;
    for (int f = 0; f < kFeatures; ++f) {
      for (std::int64_t& token : tokens) token = static_cast<std::int64_t>(draws() % 100'000);
      record += ExampleRecord().ints(name_of(f), f < 4 ? tokens : std::vector<std::int64_t>{tokens[0]}).bytes();
    }
    collector.add(id, as_bytes(record));
    most = std::max(most, allocated_bytes() - before);
  }
  EXPECT_LE(most, kBudget + kBeside + kFeatures * kFeatureOfRecord);
}

TEST(CollectorMemoryTest, ShortTextsBehindManyLongOnesFitThePromise) {
  constexpr int kFeatures = 110;
  std::mt19937_64 draws(kSeed);
  const std::size_t before = allocated_bytes();
  FeatureCollector collector(kBudget);
  std::size_t most = 0;
  for (std::uint64_t id = 0; id < 6000; ++id) {
    std::string record;
    for (int f = 0; f < kFeatures; ++f) {
      const std::string text = std::to_string(draws()) + std::string(id < 1000 ? 60 : 0, 'x');
      record += ExampleRecord().texts(name_of(f), {text}).bytes();
    }
    collector.add(id, as_bytes(record));
    most = std::max(most, allocated_bytes() - before);
  }
  EXPECT_LE(most, kBudget + kBeside + kFeatures * kFeatureOfRecord);
}

}  // namespace
}  // namespace dovetail::test
