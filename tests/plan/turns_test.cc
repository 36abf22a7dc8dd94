// SPDX-License-Identifier: Apache-2.0
// The parts that the inputs of a lane are made of: strides, the turns of a group, their walk.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "reader/plan/pick_walk.h"
#include "reader/plan/run_group.h"
#include "reader/plan/stride.h"
#include "tests/plan/random_source.h"

namespace dovetail::test {
namespace {

using detail::InputWalk;
using detail::LanePiece;
using detail::LaneRuns;
using detail::PassLayout;
using detail::PickRuns;
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

TEST(StrideTest, GivesEveryNumberOnce) {
  RandomSource random(2);
  for (const std::uint64_t size : {1u, 2u, 3u, 31u, 32u, 36u, 1000u, 65536u}) {
    const Stride stride{size, random.below(size), size == 1 ? 1 : stride_over(size, random.word())};
    std::vector<bool> seen(size);
    for (std::uint64_t place = 0; place < size; ++place) {
      const std::uint64_t number = stride.at(place);
      ASSERT_LT(number, size);
      ASSERT_FALSE(seen[number]) << number << " of " << size;
      seen[number] = true;
    }
  }
  // Products that need 128 bits.
  constexpr std::uint64_t kLargeSize = (std::uint64_t{1} << 55) - 55;
  const Stride huge{kLargeSize, kLargeSize - 7, stride_over(kLargeSize, random.word())};
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t place = random.word() % kLargeSize;
    const std::uint64_t next = huge.at(place + 1 == kLargeSize ? 0 : place + 1);
    const std::uint64_t left = kLargeSize - huge.step;
    ASSERT_EQ(next, huge.at(place) >= left ? huge.at(place) - left : huge.at(place) + huge.step);
  }
}

/// Pieces of so many records, each a run.
PassLayout layout_of(const std::vector<std::uint64_t>& lengths, std::uint32_t open_runs) {
  std::vector<LanePiece> pieces;
  std::uint64_t id = 0;
  for (std::uint32_t shard = 0; shard < lengths.size(); ++shard) {
    pieces.push_back(
        {.begin = 0, .end = lengths[shard], .run_records = lengths[shard], .shard_id = id, .shard = shard});
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

TEST(PassLayoutTest, KnowsTheLengthsOfItsRunsWithoutLookingAtThem) {
  RandomSource random(6);
  for (int i = 0; i < 300; ++i) {
    const PassLayout lane = layout_of(random_lengths(random), 1 + static_cast<std::uint32_t>(random.below(50)));
    const std::uint64_t begin = random.below(lane.runs() + 1);
    const std::uint64_t end = begin + random.below(lane.runs() - begin + 1);
    std::uint64_t position = begin;
    lane.for_each_length(begin, end, [&](std::uint64_t length) { ASSERT_EQ(length, lane.run(position++).count); });
    ASSERT_EQ(position, end);
  }
}

TEST(RunGroupTest, EveryRunGivesItsRecordsInTurnsThatItDoesNotPause) {
  RandomSource random(4);
  for (int i = 0; i < 300; ++i) {
    const PassLayout lane = layout_of(random_lengths(random), 1 + static_cast<std::uint32_t>(random.below(50)));
    RunGroup group(lane);
    for (std::uint64_t number = 0; number < lane.groups(); ++number) {
      group.open(number);
      std::vector<std::uint64_t> given(group.runs());
      std::uint64_t input = lane.inputs_before(number);
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
      for (std::uint32_t run = 0; run < group.runs(); ++run) ASSERT_EQ(given[run], group.length(run));
    }
  }
}

using PickInputs = InputWalk<PickRuns>;

/// Takes all of `out`, group by group.
void take_all(PickInputs& inputs, std::span<Pick> out) {
  while (!out.empty()) {
    const std::size_t taken = inputs.take(out);
    ASSERT_GT(taken, 0u);
    out = out.subspan(taken);
  }
}

TEST(InputWalkTest, GivesTheSameFromAnyPlaceInAnyPortions) {
  RandomSource random(5);
  for (int i = 0; i < 100; ++i) {
    const PassLayout lane = layout_of(random_lengths(random), 1 + static_cast<std::uint32_t>(random.below(50)));
    PickRuns runs(0);
    RunGroup group(lane);
    std::vector<Pick> all(lane.records());
    PickInputs whole(lane, runs);
    take_all(whole, all);
    PickInputs inputs(lane, runs);
    for (int seeks = 0; seeks < 20; ++seeks) {
      std::uint64_t input = random.below(lane.records());
      ASSERT_EQ(pick_of_input(lane, group, input), all[input]);
      inputs.seek(input);
      while (input < lane.records() && random.chance(70)) {
        std::vector<Pick> some(1 + random.below(std::min<std::uint64_t>(lane.records() - input, 100)));
        take_all(inputs, some);
        for (const Pick& pick : some) ASSERT_EQ(pick, all[input++]);
        // What is open and what is to come are all records that were not given.
        std::uint64_t left = 0;
        for (const detail::OpenRun& open : inputs.open_runs()) left += lane.run(open.run).count - open.given;
        for (std::uint64_t run = inputs.next_run(); run < lane.runs(); ++run) left += lane.run(run).count;
        ASSERT_EQ(left, lane.records() - input);
      }
    }
  }
}

TEST(InputWalkTest, WalksTheLongestRun) {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 31;
  const PassLayout lane = layout_of({kLongest, kLongest - 1}, 1);
  RandomSource random(7);
  PickRuns runs(0);
  PickInputs inputs(lane, runs);
  RunGroup group(lane);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t input = random.below(lane.records() - 100);
    inputs.seek(input);
    std::vector<Pick> some(100);
    take_all(inputs, some);
    for (const std::uint64_t ahead : {0u, 1u, 50u, 99u}) {
      ASSERT_EQ(some[ahead], pick_of_input(lane, group, input + ahead));
    }
  }
}

}  // namespace
}  // namespace dovetail::test
