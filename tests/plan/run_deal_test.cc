// SPDX-License-Identifier: Apache-2.0
// The parts that the inputs of a lane are made of: strides, the order of a run, the turns of a group.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "reader/plan/input_cursor.h"
#include "reader/plan/run_deal.h"
#include "reader/plan/run_group.h"
#include "reader/plan/stride.h"
#include "tests/plan/random_source.h"

namespace dovetail::testing {
namespace {

using detail::Draws;
using detail::InputCursor;
using detail::LaneRuns;
using detail::PassLayout;
using detail::Piece;
using detail::Purpose;
using detail::RunDeal;
using detail::RunGroup;
using detail::Stride;
using detail::stride_over;

constexpr std::uint64_t kLargestWord = ~std::uint64_t{0};

TEST(StrideTest, IsCoprimeToItsSizeAndKeepsTurnsApart) {
  EXPECT_EQ(stride_over(1, kLargestWord), 0u);
  EXPECT_EQ(stride_over(2, 0), 1u);
  RandomSource random(1);
  for (std::uint64_t size = 3; size < 3000; ++size) {
    for (const std::uint64_t word : {std::uint64_t{0}, kLargestWord, random.word(), random.word()}) {
      const std::uint64_t stride = stride_over(size, word);
      ASSERT_EQ(std::gcd(stride, size), 1u) << size;
      ASSERT_GE(stride, size < 32 ? 1u : 8u) << size;
      ASSERT_LE(stride, size - (size < 32 ? 1 : 8)) << size;
    }
  }
}

TEST(StrideTest, GivesEveryNumberOnceAndKnowsItsPlace) {
  RandomSource random(2);
  for (const std::uint64_t size : {1u, 2u, 3u, 31u, 32u, 36u, 1000u, 65536u}) {
    const Stride stride{size, random.below(size), size == 1 ? 1 : stride_over(size, random.word())};
    std::vector<bool> seen(size);
    for (std::uint64_t place = 0; place < size; ++place) {
      const std::uint64_t number = stride.at(place);
      ASSERT_LT(number, size);
      ASSERT_FALSE(seen[number]) << number << " of " << size;
      seen[number] = true;
      ASSERT_EQ(stride.place_of(number), place) << "of " << size;
    }
  }
  // Products that need 128 bits.
  constexpr std::uint64_t kLargeSize = (std::uint64_t{1} << 55) - 55;
  const Stride huge{kLargeSize, kLargeSize - 7, stride_over(kLargeSize, random.word())};
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t place = random.word() % kLargeSize;
    ASSERT_EQ(huge.place_of(huge.at(place)), place);
  }
}

dovetail::Run run_of(std::uint64_t count, std::uint64_t chunk_records, std::uint64_t first_chunk) {
  return {.shard = 0,
          .first_record = 5,
          .count = count,
          .first_id = 1005,
          .chunk_records = chunk_records,
          .first_chunk = first_chunk};
}

TEST(RunDealTest, GivesEveryRecordOnceChunkAfterChunkFromAnyPlace) {
  const Draws draws(7, Purpose::chunk, 3, 0);
  RandomSource random(3);
  for (const dovetail::Run& run : std::vector<dovetail::Run>{run_of(1, 1, 1), run_of(12, 1, 1), run_of(12, 12, 12),
                                                             run_of(12, 4, 4), run_of(13, 4, 4), run_of(13, 4, 1),
                                                             run_of(3, 4, 3), run_of(1000, 64, 5), run_of(2, 1, 1)}) {
    SCOPED_TRACE(::testing::Message() << run.count << " records in chunks of " << run.first_chunk << ", "
                                      << run.chunk_records);
    const std::uint64_t chunks = detail::count_chunks(run);
    const Stride order{chunks, random.below(chunks), chunks == 1 ? 1 : stride_over(chunks, random.word())};
    const RunDeal deal(run, draws, run.first_id - 1000, order);
    const auto chunk_of = [&](std::uint64_t record) {
      return record < run.first_chunk ? 0 : 1 + (record - run.first_chunk) / run.chunk_records;
    };
    std::vector<std::uint64_t> given;
    for (std::uint64_t dealt = 0; dealt < run.count; ++dealt) given.push_back(deal.record(dealt));
    std::set<std::uint64_t> begun;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool begins = i == 0 || chunk_of(given[i]) != chunk_of(given[i - 1]);
      if (begins) {
        ASSERT_TRUE(begun.insert(chunk_of(given[i])).second) << "a chunk is given whole before the next";
      }
    }
    EXPECT_EQ(begun.size(), chunks);
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t from = random.below(run.count + 1);
      const std::uint64_t to = from + random.below(run.count - from + 1);
      std::vector<std::uint64_t> records;
      deal.for_each_part(from, to, [&](const detail::ChunkPart& part) {
        for (std::uint64_t at = part.from; at < part.to; ++at) records.push_back(part.record(at));
      });
      ASSERT_EQ(records, std::vector<std::uint64_t>(given.begin() + static_cast<std::ptrdiff_t>(from),
                                                    given.begin() + static_cast<std::ptrdiff_t>(to)));
      const std::uint64_t first = random.below(run.count + 1);
      const std::uint64_t last = first + random.below(run.count - first + 1);
      const auto is_within = [&](std::uint64_t record) { return record >= first && record < last; };
      ASSERT_EQ(deal.count_within(first, last, from, to),
                static_cast<std::uint64_t>(std::count_if(records.begin(), records.end(), is_within)));
    }
    std::sort(given.begin(), given.end());
    for (std::uint64_t record = 0; record < run.count; ++record) ASSERT_EQ(given[record], record);
  }
}

TEST(RunDealTest, IsInTheOrderOfTheFileWithoutDraws) {
  const RunDeal deal(run_of(13, 4, 3));
  for (std::uint64_t dealt = 0; dealt < 13; ++dealt) EXPECT_EQ(deal.record(dealt), dealt);
}

/// Pieces of so many records, each a run.
PassLayout layout_of(const std::vector<std::uint64_t>& lengths, std::uint32_t open_runs) {
  std::vector<Piece> pieces;
  std::uint64_t id = 0;
  for (std::uint32_t shard = 0; shard < lengths.size(); ++shard) {
    pieces.push_back({.begin = 0,
                      .end = lengths[shard],
                      .run_records = lengths[shard],
                      .chunk_records = (lengths[shard] + 2) / 3,
                      .shard_id = id,
                      .shard = shard});
    id += lengths[shard];
  }
  return PassLayout(LaneRuns(std::move(pieces)), {.seed = 11, .epoch = 2, .open_runs = open_runs, .pool = 1});
}

std::vector<std::uint64_t> random_lengths(RandomSource& random) {
  std::vector<std::uint64_t> lengths;
  const std::uint64_t longest = random.one_of<std::uint64_t>({1, 3, 20, 200});
  for (std::uint64_t runs = 1 + random.below(40); runs > 0; --runs) {
    lengths.push_back(random.chance(50) ? longest : 1 + random.below(longest));
  }
  return lengths;
}

TEST(RunGroupTest, EveryRunGivesItsRecordsInTurnsThatItDoesNotPause) {
  RandomSource random(4);
  for (int i = 0; i < 300; ++i) {
    const PassLayout lane = layout_of(random_lengths(random), 1 + static_cast<std::uint32_t>(random.below(50)));
    RunGroup group(lane);
    for (std::uint64_t number = 0; number < lane.groups(); ++number) {
      group.open(number);
      std::vector<std::uint64_t> given(group.runs());
      std::uint64_t input = group.begin_input();
      for (std::size_t section = 0; section < group.sections(); ++section) {
        ASSERT_EQ(group.section(section).first_input, input);
        for (std::uint64_t turn = group.section(section).first_turn; turn < group.section_end(section); ++turn) {
          ASSERT_EQ(group.section_of(input), section);
          std::uint64_t runs = 0;
          for (std::uint32_t run = 0; run < group.runs(); ++run) {
            ASSERT_EQ(group.given_before(run, turn), given[run]);
            if (!group.gives(run, turn)) continue;
            ++given[run];
            ++runs;
          }
          ASSERT_EQ(runs, group.section(section).runs);
          ASSERT_GE(runs, 1u) << "the longest run never pauses";
          input += runs;
        }
      }
      ASSERT_EQ(input, group.end_input());
      for (std::uint32_t run = 0; run < group.runs(); ++run) ASSERT_EQ(given[run], group.run(run).count);
    }
  }
}

TEST(InputCursorTest, GivesTheSameFromAnyPlaceInAnyPortions) {
  RandomSource random(5);
  for (int i = 0; i < 100; ++i) {
    const PassLayout lane = layout_of(random_lengths(random), 1 + static_cast<std::uint32_t>(random.below(50)));
    std::vector<Pick> all(lane.records());
    InputCursor(lane, 100).take(all);
    InputCursor cursor(lane, 100);
    for (int seeks = 0; seeks < 20; ++seeks) {
      std::uint64_t input = random.below(lane.records());
      ASSERT_EQ(cursor.at(input), all[input]);
      cursor.seek(input);
      while (input < lane.records() && random.chance(70)) {
        std::vector<Pick> some(1 + random.below(std::min<std::uint64_t>(lane.records() - input, 100)));
        cursor.take(some);
        for (const Pick& pick : some) ASSERT_EQ(pick, all[input++]);
        // What is open and what is to come are all records that were not given.
        std::uint64_t left = 0;
        for (const detail::OpenRun& open : cursor.open_runs()) left += lane.run(open.run - 100).count - open.given;
        for (std::uint64_t run = cursor.next_run() - 100; run < lane.runs(); ++run) left += lane.run(run).count;
        ASSERT_EQ(left, lane.records() - input);
      }
    }
  }
}

}  // namespace
}  // namespace dovetail::testing
