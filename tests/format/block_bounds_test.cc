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
constexpr std::uint64_t kRun = 256 << 10;

FirstRecords of_one_size(std::uint64_t records, std::uint64_t bytes) {
  return {records, records * bytes, bytes, bytes};
}

/// A mean of `mean` bytes.
FirstRecords of_two_sizes(std::uint64_t records, std::uint64_t mean) {
  return {records, records * mean, mean - 1, mean + 1};
}

struct Choice {
  const char* what;
  RunTargets targets;
  FirstRecords first;
  RunShape shape;
};

TEST(RunShapeTest, IsChosenByTheFirstRecords) {
  const Choice choices[] = {
      // Of one size: as many as a block holds.
      {"100 bytes", {kBlock, kRun}, of_one_size(2622, 100), {655 * 4, 655}},
      {"3,000 bytes", {kBlock, kRun}, of_one_size(88, 3000), {21 * 4, 21}},
      {"1 byte", {kBlock, kRun}, of_one_size(kRun, 1), {65536 * 4, 65536}},
      {"just below half a block", {kBlock, kRun}, of_one_size(9, kBlock / 2 - 1), {2 * 4, 2}},
      {"half a block", {kBlock, kRun}, of_one_size(8, kBlock / 2), {8, 1}},
      {"a block", {kBlock, kRun}, of_one_size(4, kBlock), {4, 1}},
      {"more than a run", {kBlock, kRun}, of_one_size(1, 1 << 20), {1, 1}},
      {"the largest record", {kBlock, kRun}, of_one_size(1, kMaxRecordBytes), {1, 1}},
      {"empty ones", {kBlock, kRun}, of_one_size(kMaxBlockRecords, 0), {kMaxBlockRecords, kMaxBlockRecords}},
      {"an empty one", {kBlock, kRun}, of_one_size(1, 0), {65536 * 4, 65536}},
      // Of several sizes: three quarters of a block.
      {"a mean of 100", {kBlock, kRun}, of_two_sizes(2622, 100), {491 * 5, 491}},
      {"a mean of 20,000", {kBlock, kRun}, of_two_sizes(14, 20000), {2 * 7, 2}},
      {"a mean of 30,000", {kBlock, kRun}, of_two_sizes(9, 30000), {9, 1}},
      {"a mean of half a block", {kBlock, kRun}, of_two_sizes(9, kBlock / 2), {8, 1}},
      // A run that is smaller than a block.
      {"runs below a block", {kBlock, 25'600}, of_one_size(256, 100), {256, 256}},
      {"varied runs below a block", {kBlock, 25'600}, of_two_sizes(256, 100), {256, 256}},
      {"runs below a record", {kBlock, 10}, of_one_size(1, 100), {1, 1}},
      // The limits of what is chosen.
      {"the largest runs", {1 << 26, 1 << 30}, of_one_size(kMaxBlockRecords, 1), {kMaxBlockRecords, kMaxBlockRecords}},
      {"large runs", {1 << 20, 1 << 30}, of_one_size(kMaxBlockRecords, 7), {149796 * 7, 149796}},
      // A run is given: it is cut into chunks of nearly equal length.
      {"a run of 1,000", {kBlock, kRun, 1000}, of_one_size(2622, 100), {1000, 500}},
      {"a run of 655", {kBlock, kRun, 655}, of_one_size(2622, 100), {655, 655}},
      {"a run of 656", {kBlock, kRun, 656}, of_one_size(2622, 100), {656, 328}},
      {"a run of 3", {kBlock, kRun, 3}, of_one_size(2622, 100), {3, 3}},
      {"a run of 10 large ones", {kBlock, kRun, 10}, of_one_size(4, kBlock), {10, 1}},
      {"a run whose bytes do not count", {kBlock, 1024, 1000}, of_one_size(11, 100), {1000, 500}},
      {"the longest run", {kBlock, kRun, kMaxRunRecords}, of_one_size(4, 70'000), {kMaxRunRecords, 1}},
      // A chunk is given: a run is some of them.
      {"a chunk of 1", {kBlock, kRun, 0, 1}, of_two_sizes(2622, 100), {2621, 1}},
      {"a chunk of 7", {kBlock, kRun, 0, 7}, of_two_sizes(2622, 100), {374 * 7, 7}},
      {"a chunk of 2,000", {kBlock, kRun, 0, 2000}, of_two_sizes(2622, 100), {2000, 2000}},
      {"the longest chunk",
       {kBlock, kRun, 0, kMaxChunkRecords},
       of_one_size(1, 1u << 31),
       {kMaxChunkRecords, kMaxChunkRecords}},
      {"a chunk of empty ones", {kBlock, kRun, 0, 1000}, of_one_size(kMaxBlockRecords, 0), {1048 * 1000, 1000}},
      // Both.
      {"both", {kBlock, kRun, 10, 3}, of_one_size(2622, 100), {10, 3}},
      // No records.
      {"nothing", {kBlock, kRun}, {}, {1, 1}},
      {"a run of nothing", {kBlock, kRun, 9}, {}, {9, 1}},
      {"a chunk of nothing", {kBlock, kRun, 0, 9}, {}, {9, 9}},
  };
  for (const Choice& choice : choices) {
    SCOPED_TRACE(choice.what);
    const RunShape shape = choose_run_shape(choice.targets, choice.first);
    EXPECT_EQ(shape.run_records, choice.shape.run_records);
    EXPECT_EQ(shape.chunk_records, choice.shape.chunk_records);
  }
}

TEST(RunShapeTest, IsValidForAnyRecordsAndTargets) {
  for (const std::uint32_t block : {kMinBlockTarget, kBlock, kMaxBlockTarget}) {
    for (const std::uint64_t run_bytes : {std::uint64_t{1}, std::uint64_t{1000}, kRun, kMaxRunBytes}) {
      for (const std::uint64_t run : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{97}, kMaxRunRecords}) {
        for (const std::uint64_t chunk : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{64}, kMaxChunkRecords}) {
          if (run != 0 && chunk > run) continue;
          for (const std::uint64_t bytes : {0ull, 1ull, 500ull, 40'000ull, 0xFFFFFFFFull}) {
            FirstRecords first;
            first.add(bytes);
            while (!can_choose_run(run_bytes, first) && first.records < 3000)
              first.add(first.records % 3 == 0 ? 0 : bytes);
            const RunShape shape = choose_run_shape({block, run_bytes, run, chunk}, first);
            ASSERT_GE(shape.chunk_records, 1u);
            ASSERT_GE(shape.run_records, shape.chunk_records);
            ASSERT_LE(shape.run_records, kMaxRunRecords);
            ASSERT_LE(shape.chunk_records, kMaxChunkRecords);
            ASSERT_TRUE(run == 0 || shape.run_records == run);
            ASSERT_TRUE(chunk == 0 || shape.chunk_records == chunk);
          }
        }
      }
    }
  }
}

TEST(RunShapeTest, SaysWhichBlocksCrossTheEndOfAChunk) {
  const RunShape shape = {10, 4};  // chunks end at 4, 8, 10, 14, 18, 20
  std::vector<std::uint64_t> ends;
  for (std::uint64_t record = 0; record < 20; ++record) {
    EXPECT_FALSE(crosses_chunk_end(shape, record, 1));
    if (crosses_chunk_end(shape, record, 2)) ends.push_back(record + 1);
  }
  EXPECT_THAT(ends, ElementsAre(4, 8, 10, 14, 18, 20));
  EXPECT_FALSE(crosses_chunk_end(shape, 4, 4));
  EXPECT_TRUE(crosses_chunk_end(shape, 4, 5));
  EXPECT_TRUE(crosses_chunk_end(shape, 8, 3));
  EXPECT_TRUE(crosses_chunk_end(shape, 0, 11));
  EXPECT_TRUE(crosses_chunk_end(shape, 0, 0xFFFFFFFF));
  EXPECT_FALSE(crosses_chunk_end({kMaxRunRecords, kMaxRunRecords}, kMaxRunRecords - 5, 5));
  EXPECT_TRUE(crosses_chunk_end({kMaxRunRecords, kMaxRunRecords}, kMaxRunRecords - 5, 6));
}

TEST(BlockBoundsTest, EndAtEveryEndOfAChunk) {
  const RunShape shape = {10, 4};
  BlockBounds bounds(kMinBlockTarget, shape);
  std::vector<int> ends;
  for (int record = 1; record <= 23; ++record) {
    EXPECT_FALSE(bounds.ends_before(1));
    if (bounds.add(1)) ends.push_back(record);
  }
  EXPECT_THAT(ends, ElementsAre(4, 8, 10, 14, 18, 20));
  bounds.end_shard();
  for (int record = 1; record <= 3; ++record) EXPECT_FALSE(bounds.add(0));
  EXPECT_TRUE(bounds.add(0));
}

}  // namespace
}  // namespace dovetail::format
