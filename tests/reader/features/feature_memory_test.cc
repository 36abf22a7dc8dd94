// SPDX-License-Identifier: Apache-2.0
// What collectors do with more features than fit their memory.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "reader/features/feature_collector.h"
#include "reader/features/known_features.h"
#include "reader/features/value_hash.h"
#include "tests/reader/features/feature_records.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kMemorySeed = 20261127;

TEST(FeatureMemoryTest, KeepsTheFirstNamesInOrderOfTooMany) {
  constexpr int kNames = 12'000;
  std::vector<std::string> names;
  for (int i = 0; i < kNames; ++i) names.push_back("feature " + std::to_string(100'000 + i));
  std::mt19937_64 draws(kMemorySeed);
  FeatureCollector collector;
  for (std::uint64_t id = 0; id < 3; ++id) {
    std::shuffle(names.begin(), names.end(), draws);
    ExampleRecord record;
    for (const std::string& name : names) record = record.ints(name, {static_cast<std::int64_t>(id)});
    collector.add(id, as_bytes(record.bytes()));
  }
  const FeaturesReport report = collector.report();
  ASSERT_EQ(report.features.size(), kMaxReportedFeatures);
  EXPECT_NEAR(static_cast<double>(report.names_left_out), 2000, 60);
  for (std::size_t i = 0; i < report.features.size(); ++i) {
    ASSERT_EQ(report.features[i].name, "feature " + std::to_string(100'000 + i));
    ASSERT_EQ(report.features[i].records, 3u) << "complete, seed " << kMemorySeed;
    ASSERT_EQ(report.features[i].distinct, 3u);
  }
  EXPECT_EQ(report.schema.columns.size(), kMaxColumns);
  EXPECT_EQ(report.without_column.size(), kMaxReportedFeatures - kMaxColumns);
}

TEST(FeatureMemoryTest, LittleMemoryCostsPrecisionAlone) {
  constexpr std::size_t kMemory = std::size_t{1} << 20;
  const std::vector<std::string> records = [] {
    std::mt19937_64 draws(kMemorySeed);
    std::vector<std::string> all;
    for (int i = 0; i < 3000; ++i) {
      ExampleRecord record;
      for (int f = 0; f < 200; ++f) record = record.ints("f" + std::to_string(f), {static_cast<std::int64_t>(draws())});
      all.push_back(record.bytes());
    }
    return all;
  }();
  std::vector<FeatureCollector> parts;
  for (int i = 0; i < 3; ++i) parts.emplace_back(kMemory);
  FeatureCollector whole(kMemory);
  for (std::size_t i = 0; i < records.size(); ++i) {
    whole.add(i, as_bytes(records[i]));
    parts[i % 3].add(i, as_bytes(records[i]));
  }
  parts[1].merge(parts[2]);
  parts[0].merge(parts[1]);
  const FeaturesReport report = whole.report();
  EXPECT_EQ(all_of(parts[0].report()), all_of(report));
  for (const FeatureStats& stats : report.features) {
    EXPECT_GT(stats.distinct_error, 0.02) << stats.name;
    EXPECT_NEAR(static_cast<double>(stats.distinct), 3000, 3000 * 5 * stats.distinct_error) << stats.name;
    EXPECT_EQ(stats.values, 3000u);
  }
}

TEST(FeatureMemoryTest, FeaturesWithoutValuesTakeTheSameMemoryWithAndWithoutMerges) {
  // Fits the names and states alone, without the tables of their sketches.
  constexpr std::size_t kMemory = 170'000;
  ExampleRecord record;
  for (int f = 100; f < 300; ++f) record = record.ints("f" + std::to_string(f), {});
  FeatureCollector whole(kMemory);
  whole.add(0, as_bytes(record.bytes()));
  FeatureCollector merged(kMemory);
  merged.merge(whole);
  EXPECT_GT(merged.report().names_left_out, 0u);
  EXPECT_EQ(all_of(whole.report()), all_of(merged.report()));
}

TEST(FeatureMemoryTest, FeaturesWithoutValuesAreChargedWhenTheyAreFound) {
  int full = 0;
  detail::Collector collector(170'000, [&](detail::Collector& self) {
    ++full;
    self.clear(self);
  });
  ExampleRecord record;
  for (int f = 100; f < 300; ++f) record = record.ints("f" + std::to_string(f), {});
  collector.add(0, as_bytes(record.bytes()));
  EXPECT_EQ(full, 1);
}

TEST(FeatureMemoryTest, WithLittleMemoryTheOrderMakesNoDifferenceEither) {
  for (std::uint64_t seed = kMemorySeed; seed < kMemorySeed + 4; ++seed) {
    std::mt19937_64 draws(seed);
    std::vector<std::string> records;
    for (int i = 0; i < 600; ++i) {
      ExampleRecord record;
      for (int f = 0; f < 60; ++f) {
        std::vector<std::string> texts(draws() % (f == 0 ? 40 : 3));
        for (std::string& text : texts) text = std::string(draws() % 60, 'x') + std::to_string(draws());
        std::vector<float> floats(draws() % (f == 0 ? 90 : 4));
        for (float& value : floats) value = static_cast<float>(draws() % 100'000);
        record = record.texts("text " + std::to_string(f), texts).floats("float " + std::to_string(f), floats);
      }
      records.push_back(record.bytes());
    }
    std::vector<std::size_t> order(records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::string expected;
    for (int round = 0; round < 4; ++round) {
      FeatureCollector collector(std::size_t{3} << 20);
      for (const std::size_t i : order) collector.add(i, as_bytes(records[i]));
      const std::string found = all_of(collector.report());
      if (round == 0) expected = found;
      ASSERT_EQ(found, expected) << "seed " << seed << ", round " << round;
      std::shuffle(order.begin(), order.end(), draws);
    }
  }
}

TEST(FeatureMemoryTest, AFeatureThatIsLeftOutLeavesItsShareToOthers) {
  detail::KnownFeatures known(std::size_t{1} << 30);
  const detail::SketchMemory all = known.memory();
  detail::FeatureState& state = known.state(*known.find_or_add("z"), ValueKind::ints);
  format::ExampleFeatures parsed;
  for (std::uint64_t id = 0; id < 4000; ++id) {
    const std::string record = ExampleRecord().ints("z", {static_cast<std::int64_t>(id % 1000)}).bytes();
    parsed.parse(as_bytes(record)).value();
    state.add(parsed.all().front(), id, detail::mix_bits(id), known.memory());
  }
  EXPECT_EQ(known.memory().batches, all.batches - 1);
  EXPECT_EQ(known.memory().seen_numbers, all.seen_numbers - 1);
  for (std::size_t i = 0; i < kMaxReportedFeatures; ++i) known.find_or_add("a" + std::to_string(i));
  ASSERT_EQ(known.find("z"), nullptr);
  EXPECT_EQ(known.memory().batches, all.batches);
  EXPECT_EQ(known.memory().seen_numbers, all.seen_numbers);
}

TEST(FeatureMemoryTest, NamesThatDoNotFitTheMemoryAreLeftOutFromTheEnd) {
  std::vector<std::string> records;
  for (int i = 0; i < 3000; ++i) {
    records.push_back(ExampleRecord().ints(std::to_string(10'000 + i) + std::string(900, 'n'), {i}).bytes());
  }
  std::string expected;
  for (const bool backwards : {false, true}) {
    FeatureCollector collector(std::size_t{1} << 20);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::size_t id = backwards ? records.size() - 1 - i : i;
      collector.add(id, as_bytes(records[id]));
    }
    const FeaturesReport report = collector.report();
    EXPECT_GT(report.features.size(), 400u);
    EXPECT_LT(report.features.size(), 1100u) << "1 MiB";
    EXPECT_NEAR(static_cast<double>(report.names_left_out + report.features.size()), 3000, 60);
    EXPECT_TRUE(report.features.back().name.starts_with(std::to_string(10'000 + report.features.size() - 1)));
    if (!backwards) expected = all_of(report);
    EXPECT_EQ(all_of(report), expected);
  }
}

}  // namespace
}  // namespace dovetail::test
