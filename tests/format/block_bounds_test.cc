// SPDX-License-Identifier: Apache-2.0
#include "format/block_bounds.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/layout.h"

namespace dovetail::format {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kBlock = 64 << 10;
constexpr std::uint64_t kRun = 64 << 10;

FirstRecords of_one_size(std::uint64_t records, std::uint64_t bytes) {
  return {records, records * bytes, bytes, bytes};
}

/// A mean of `mean` bytes.
FirstRecords of_two_sizes(std::uint64_t records, std::uint64_t mean) {
  return {records, records * mean, mean - 1, mean + 1};
}

struct Choice {
  const char* what;
  std::uint64_t run_bytes;
  FirstRecords first;
  std::uint64_t run_records;
};

TEST(RunLengthTest, IsChosenByTheFirstRecords) {
  const Choice choices[] = {
      // Of one size: as many as the target holds.
      {"100 bytes", kRun, of_one_size(656, 100), 655},
      {"3,000 bytes", kRun, of_one_size(22, 3000), 21},
      {"1 byte", kRun, of_one_size(kRun, 1), 65536},
      {"the target", kRun, of_one_size(1, kRun), 1},
      {"more than the target", kRun, of_one_size(1, 1 << 20), 1},
      {"the largest record", kRun, of_one_size(1, kMaxRecordBytes), 1},
      {"empty ones", kRun, of_one_size(kMaxBlockRecords, 0), kMaxBlockRecords},
      {"an empty one", kRun, of_one_size(1, 0), kMaxBlockRecords},
      // Of several sizes: three quarters of it.
      {"a mean of 100", kRun, of_two_sizes(656, 100), 491},
      {"a mean of 20,000", kRun, of_two_sizes(4, 20000), 2},
      {"a mean of 40,000", kRun, of_two_sizes(2, 40000), 1},
      // The limits.
      {"runs below a record", 10, of_one_size(1, 100), 1},
      {"the largest runs", std::uint64_t{1} << 30, of_one_size(kMaxBlockRecords, 1), kMaxBlockRecords},
  };
  for (const Choice& choice : choices) {
    EXPECT_EQ(choose_run_records(choice.run_bytes, choice.first), choice.run_records) << choice.what;
  }
}

TEST(RunLengthTest, IsPossibleForAnyRecordsAndTarget) {
  for (const std::uint64_t run_bytes : {std::uint64_t{1}, std::uint64_t{1000}, kRun, kMaxRunBytes}) {
    for (const std::uint64_t bytes : {0ull, 1ull, 500ull, 40'000ull, 0xFFFFFFFFull}) {
      FirstRecords first;
      first.add(bytes);
      while (!can_choose_run(run_bytes, first) && first.records < 3000) first.add(first.records % 3 == 0 ? 0 : bytes);
      ASSERT_GE(choose_run_records(run_bytes, first), 1u);
      ASSERT_LE(choose_run_records(run_bytes, first), kMaxBlockRecords);
    }
  }
}

TEST(RunLengthTest, IsKnownWithTheSampleTheTargetOrTheMostRecordsOfABlock) {
  constexpr std::uint64_t kSample = 1 << 20;
  EXPECT_FALSE(can_choose_run(kRun, of_one_size(kSample / 64, 64))) << "the largest does not count";
  EXPECT_TRUE(can_choose_run(kRun, of_one_size(kSample / 64 + 1, 64)));
  EXPECT_FALSE(can_choose_run(2 * kSample, of_one_size(kSample / 64 + 1, 64)));
  EXPECT_TRUE(can_choose_run(2 * kSample, of_one_size(kSample / 32 + 1, 64)));
  EXPECT_FALSE(can_choose_run(kRun, of_one_size(1, 16 * kSample - 1)));
  EXPECT_TRUE(can_choose_run(kRun, of_one_size(1, 16 * kSample))) << "more would take too much memory";
  EXPECT_FALSE(can_choose_run(32 * kSample, of_one_size(1, 16 * kSample)));
  EXPECT_FALSE(can_choose_run(kRun, of_one_size(kMaxBlockRecords - 1, 0)));
  EXPECT_TRUE(can_choose_run(kRun, of_one_size(kMaxBlockRecords, 0)));
}

/// The run length that records of these sizes choose.
std::uint64_t run_chosen_by(const std::vector<std::uint64_t>& sizes) {
  FirstRecords first;
  for (const std::uint64_t size : sizes) {
    first.add(size);
    if (can_choose_run(kRun, first)) break;
  }
  return choose_run_records(kRun, first);
}

TEST(RunLengthTest, BarelyDependsOnOneLongRecord) {
  std::vector<std::uint64_t> sizes(100'000);
  for (std::size_t i = 0; i != sizes.size(); ++i) sizes[i] = 1000 + i * 7919 % 2001;  // a mean of 2000
  const std::uint64_t usual = run_chosen_by(sizes);
  EXPECT_NEAR(static_cast<double>(usual), 24, 3);
  for (const std::size_t place : {0u, 2u, 100u, 600u}) {
    for (const std::uint64_t size : {100'000ull, 900'000ull, 15'000'000ull}) {
      std::vector<std::uint64_t> with_long = sizes;
      with_long[place] = size;
      EXPECT_NEAR(static_cast<double>(run_chosen_by(with_long)), static_cast<double>(usual), 3)
          << size << " bytes at " << place;
    }
  }
}

TEST(RunLengthTest, DoesNotFollowFromAFewSmallRecordsBesideALongOne) {
  EXPECT_EQ(run_chosen_by({10, 20'000'000}), 1u) << "nothing is known about the small ones";
  EXPECT_EQ(run_chosen_by({20'000'000, 10, 10, 10}), 1u);
}

TEST(RunLengthTest, IsLongerOnRequestIfRunsHaveLessThanHalfOfTheTarget) {
  constexpr std::uint64_t kRecords = 100'000;
  const auto longer = [](std::uint64_t run_records, std::uint64_t mean) {
    return longer_run(kRecords, kRecords * mean, run_records, kRun);
  };
  EXPECT_EQ(longer(5, 2000), 32u);
  EXPECT_EQ(longer(15, 2000), 32u);
  EXPECT_EQ(longer(16, 2000), std::nullopt);
  EXPECT_EQ(longer(1, 25'000), std::nullopt) << "two records are more than three quarters";
  EXPECT_EQ(longer(1, 0), std::nullopt);
  EXPECT_EQ(longer_run(10, 20'000, 1, kRun), std::nullopt) << "a dataset of one run";
  EXPECT_EQ(longer_run(0, 0, 1, kRun), std::nullopt);
  EXPECT_EQ(mean_run_bytes(1'000'000, 2'000'000'000, 5), 10'000u);
  EXPECT_EQ(mean_run_bytes(std::uint64_t{1} << 50, std::uint64_t{1} << 50, 32'000), 32'000u) << "no overflow";
}

/// Records of each block of shards of records of these sizes.
std::vector<std::uint64_t> blocks_of(BlockBounds bounds, const std::vector<std::vector<std::uint64_t>>& shards) {
  std::vector<std::uint64_t> blocks;
  for (const std::vector<std::uint64_t>& sizes : shards) {
    std::uint64_t records = 0;
    const auto end = [&] {
      if (records > 0) blocks.push_back(records);
      records = 0;
    };
    for (const std::uint64_t size : sizes) {
      if (bounds.ends_before(size)) {
        bounds.end_block();
        end();
      }
      ++records;
      if (bounds.add(size)) end();
    }
    bounds.end_shard();
    end();
  }
  return blocks;
}

TEST(BlockBoundsTest, EndsBlocksAtTheTargetAtRunsAndAroundLargeRecords) {
  const std::vector<std::uint64_t> small(10, 100);
  EXPECT_THAT(blocks_of(BlockBounds(1000, 4), {small}), ElementsAre(4, 4, 2));
  EXPECT_THAT(blocks_of(BlockBounds(300, 100), {small}), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(blocks_of(BlockBounds(300, 4), {small}), ElementsAre(3, 1, 3, 1, 2));
  EXPECT_THAT(blocks_of(BlockBounds(1000, 4), {small, small}), ElementsAre(4, 4, 2, 4, 4, 2))
      << "counted from the shard";
  EXPECT_THAT(blocks_of(BlockBounds(1000, 100), {{100, 100, 500, 100, 2000, 0}}), ElementsAre(2, 1, 1, 1, 1));
  EXPECT_THAT(blocks_of(BlockBounds(1000, 1), {{0, 0, 5000}}), ElementsAre(1, 1, 1));
}

// A run of records of one size is one block.
TEST(BlockBoundsTest, ARunThatWasChosenFitsABlock) {
  for (const std::uint64_t bytes : {1u, 17u, 64u, 100u, 1000u, 1024u, 3000u, 16000u, 32000u}) {
    const std::uint64_t run = choose_run_records(kRun, of_one_size(kRun / bytes + 1, bytes));
    const std::vector<std::uint64_t> sizes(3 * run, bytes);
    EXPECT_THAT(blocks_of(BlockBounds(kBlock, run), {sizes}), ElementsAre(run, run, run)) << bytes;
  }
}

}  // namespace
}  // namespace dovetail::format
