// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <dovetail/features.h>
#include <dovetail/record_reader.h>

#include "tests/reader/features/feature_records.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kDatasetSeed = 20261128;

/// Writes records into shards of equal size.
Dataset write_records(const TempFolder& folder, const std::vector<std::string>& records, std::size_t shards) {
  std::vector<ShardInfo> infos;
  for (std::size_t i = 0; i < shards; ++i) {
    ShardSpec spec{.run_records = 6, .block_records = 3};
    spec.records.assign(records.begin() + static_cast<std::ptrdiff_t>(records.size() * i / shards),
                        records.begin() + static_cast<std::ptrdiff_t>(records.size() * (i + 1) / shards));
    spec.shard_number = static_cast<std::uint32_t>(i);
    infos.push_back(write_shard(folder.path(), "shard-" + std::to_string(i) + ".dvt", spec));
  }
  write_manifest(folder.path("manifest.dvt"), infos);
  return Dataset::open(folder.path()).value();
}

void damage(const std::string& shard, std::size_t block) {
  flip_bit(shard, describe_shard(shard).value().blocks[block].offset + 64);
}

using DescribeFeaturesTest = FolderTest;

TEST_F(DescribeFeaturesTest, ThreadsAndShardsChangeNothing) {
  const std::vector<std::string> records = random_records(kDatasetSeed, 3000);
  const std::string expected = all_of(report_of(records));
  for (const std::size_t shards : {1U, 7U}) {
    TempFolder folder;
    const Dataset dataset = write_records(folder, records, shards);
    for (const unsigned threads : {0U, 1U, 2U, 3U, 8U, 100U}) {
      const auto report = describe_features(dataset, {.threads = threads});
      ASSERT_TRUE(report.has_value()) << report.error().to_string();
      EXPECT_EQ(all_of(*report), expected) << shards << " shards, " << threads << " threads, seed " << kDatasetSeed;
    }
  }
}

/// Several hundred features of texts, of which the first record has only one.
std::vector<std::string> wide_records(bool json) {
  std::mt19937_64 draws(kDatasetSeed);
  std::vector<std::string> records = {json ? R"({"a": 1})" : ExampleRecord().ints("a", {1}).bytes()};
  for (int i = 0; i < 700; ++i) {
    ExampleRecord record;
    std::string members;
    for (int f = 0; f < 400; ++f) {
      const std::string name = "feature " + std::to_string(f);
      const std::string text = "text " + std::to_string(draws());
      if (json) {
        members += (f == 0 ? "\"" : ", \"") + name + "\": \"" + text + '"';
      } else {
        record = record.texts(name, {text});
      }
    }
    records.push_back(json ? '{' + members + '}' : record.bytes());
  }
  return records;
}

TEST_F(DescribeFeaturesTest, ThreadsChangeNothingOfManyFeatures) {
  for (const bool json : {false, true}) {
    TempFolder folder;
    const Dataset dataset = write_records(folder, wide_records(json), 2);
    const FeaturesReport report = describe_features(dataset, {.threads = 1}).value();
    EXPECT_EQ(report.features.size(), 401u);
    for (const FeatureStats& stats : report.features) {
      if (stats.name == "a") continue;
      EXPECT_LT(stats.distinct_error, 0.02) << stats.name;
      EXPECT_NEAR(static_cast<double>(stats.distinct), 700, 700 * 5 * 0.0115) << stats.name;
    }
    const std::string expected = all_of(report);
    for (const unsigned threads : {2U, 8U}) {
      EXPECT_EQ(all_of(describe_features(dataset, {.threads = threads}).value()), expected)
          << threads << " threads, seed " << kDatasetSeed;
    }
  }
}

TEST_F(DescribeFeaturesTest, JoinedDatasetsAreOne) {
  TempFolder left;
  TempFolder right;
  const std::vector<std::string> records = random_records(kDatasetSeed + 1, 200);
  const std::vector<std::string> more = random_records(kDatasetSeed + 2, 100);
  const Dataset datasets[] = {write_records(left, records, 2), write_records(right, more, 1)};
  std::vector<std::string> all = records;
  all.insert(all.end(), more.begin(), more.end());
  EXPECT_EQ(all_of(describe_features(Dataset::join(datasets).value()).value()), all_of(report_of(all)));
}

TEST_F(DescribeFeaturesTest, NoRecordsHaveNoFeatures) {
  EXPECT_EQ(all_of(describe_features(write_records(folder_, {}, 2)).value()), all_of(FeaturesReport()));
}

TEST_F(DescribeFeaturesTest, DamagedBlocksAreLeftOutAndCounted) {
  const std::vector<std::string> records = random_records(kDatasetSeed, 60);
  const Dataset dataset = write_records(folder_, records, 3);
  damage(folder_.path("shard-1.dvt"), 2);
  damage(folder_.path("shard-2.dvt"), 0);
  std::vector<std::string> rest = records;
  FeatureCollector collector;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool lost = (i >= 20 + 6 && i < 20 + 9) || (i >= 40 && i < 43);
    if (!lost) collector.add(i, as_bytes(records[i]));
  }
  for (const unsigned threads : {1U, 4U}) {
    FeaturesReport report = describe_features(dataset, {.threads = threads}).value();
    EXPECT_EQ(report.damaged_blocks, 2u);
    EXPECT_EQ(report.lost_records, 6u);
    ASSERT_TRUE(report.first_damage.has_value());
    EXPECT_THAT(report.first_damage->to_string(), HasSubstr("shard-1.dvt"));
    report.damaged_blocks = report.lost_records = 0;
    report.first_damage.reset();
    EXPECT_EQ(all_of(report), all_of(collector.report()));
  }
}

TEST_F(DescribeFeaturesTest, AShardThatCannotBeOpenedForDamageLosesItsRecords) {
  const Dataset dataset = write_records(folder_, random_records(kDatasetSeed, 60), 3);
  const std::string path = folder_.path("shard-1.dvt");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const FeaturesReport report = describe_features(dataset).value();
  EXPECT_EQ(report.records, 40u);
  EXPECT_EQ(report.lost_records, 20u);
  EXPECT_EQ(report.damaged_blocks, dataset.shards()[1].blocks);
}

TEST_F(DescribeFeaturesTest, AShardThatIsMissingIsAnError) {
  const Dataset dataset = write_records(folder_, random_records(kDatasetSeed, 600), 3);
  std::filesystem::remove(folder_.path("shard-2.dvt"));
  EXPECT_THAT(describe_features(dataset, {.threads = 4}), Fails().in(folder_.path("shard-2.dvt")));
}

TEST_F(DescribeFeaturesTest, IsCancelledAndTellsHowFarItIs) {
  const std::vector<std::string> records = random_records(kDatasetSeed, 2000);
  const Dataset dataset = write_records(folder_, records, 3);
  int asked = 0;
  const auto cancelled = describe_features(dataset, {.cancelled = [&] { return ++asked == 3; }});
  ASSERT_THAT(cancelled, Fails(ErrorKind::cancelled));
  std::uint64_t records_read = 0;
  std::uint64_t bytes_read = 0;
  const auto progress = [&](std::uint64_t read, std::uint64_t bytes) {
    EXPECT_GE(read, records_read);
    records_read = read;
    bytes_read = bytes;
  };
  ASSERT_TRUE(describe_features(dataset, {.threads = 2, .progress = progress}).has_value());
  EXPECT_EQ(records_read, dataset.records());
  EXPECT_EQ(bytes_read, dataset.raw_bytes());
}

TEST_F(DescribeFeaturesTest, WhatACallbackThrowsIsThrown) {
  const Dataset dataset = write_records(folder_, random_records(kDatasetSeed, 2000), 3);
  for (const unsigned threads : {1U, 4U}) {
    std::atomic<int> calls = 0;
    const auto fail = [&]() -> bool {
      if (++calls > 2) throw std::runtime_error("enough");
      return false;
    };
    EXPECT_THROW(static_cast<void>(describe_features(dataset, {.threads = threads, .cancelled = fail})),
                 std::runtime_error);
  }
}

TEST_F(DescribeFeaturesTest, IsAskedBeforeEachMiB) {
  const std::vector<std::string> records(40, std::string(std::size_t{1} << 19, 'x'));
  const Dataset dataset = write_records(folder_, records, 1);
  std::uint64_t before = 0;
  const auto progress = [&](std::uint64_t, std::uint64_t bytes) {
    EXPECT_LT(bytes - before, std::uint64_t{3} << 20) << "one MiB, and the block behind it";
    before = bytes;
  };
  ASSERT_TRUE(describe_features(dataset, {.threads = 1, .progress = progress}).has_value());
  EXPECT_EQ(before, dataset.raw_bytes());
}

TEST_F(DescribeFeaturesTest, ASampleOpensOnlyTheShardsThatItReads) {
  const Dataset dataset = write_records(folder_, random_records(kDatasetSeed, 600), 3);
  // One block of all is the middle one.
  write_file(folder_.path("shard-0.dvt"), "damaged");
  std::filesystem::remove(folder_.path("shard-2.dvt"));
  const auto report = describe_features(dataset, {.max_records = 1});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_GT(report->records, 0u);
  EXPECT_EQ(report->lost_records, 0u);
  write_file(folder_.path("shard-1.dvt"), "damaged");
  const FeaturesReport damaged = describe_features(dataset, {.max_records = 1}).value();
  EXPECT_EQ(damaged.damaged_blocks, 1u);
  EXPECT_EQ(damaged.lost_records, 200 / dataset.shards()[1].blocks);
}

TEST_F(DescribeFeaturesTest, ASampleIsTakenFromAllOver) {
  std::vector<std::string> records;
  for (int i = 0; i < 9000; ++i) records.push_back(ExampleRecord().ints("x", {i}).bytes());
  const Dataset dataset = write_records(folder_, records, 4);
  for (const std::uint64_t wanted : {1U, 100U, 4500U, 8999U}) {
    const FeaturesReport report = describe_features(dataset, {.max_records = wanted}).value();
    EXPECT_NEAR(static_cast<double>(report.records), static_cast<double>(wanted), 3);
    if (wanted < 100) continue;
    EXPECT_NEAR(feature(report, "x").mean, 4500, 120) << wanted;
  }
  EXPECT_EQ(describe_features(dataset, {.max_records = 9000}).value().records, 9000u);
}

}  // namespace
}  // namespace dovetail::test
