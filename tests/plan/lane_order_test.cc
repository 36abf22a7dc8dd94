// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "tests/plan/random_source.h"
#include "tests/plan/shapes.h"

namespace dovetail::test {
namespace {

LaneOrder lane_of(const std::shared_ptr<const DatasetShape>& shape, const PlanOptions& options,
                  std::uint32_t number = 0) {
  return Plan::make(shape, options)->epoch(0)->lane(number);
}

TEST(LaneOrderTest, SeeksInAHugeDatasetWithoutWalkingIt) {
  // 2^54 records in 2^44 runs: nothing here could be enumerated.
  const auto shape = shape_of(std::vector<std::uint64_t>(16, std::uint64_t{1} << 50), 1000);
  const LaneOrder lane = lane_of(shape, {.world = 4, .batch = 256}, 3);
  RandomSource random(1);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t output = random.below(lane.records() - 200);
    const std::vector<std::uint64_t> ids = ids_of(lane, output, 200);
    for (const std::uint64_t ahead : {0u, 1u, 77u, 199u}) ASSERT_EQ(lane.at(output + ahead).id, ids[ahead]);
    ASSERT_LT(ids[0], std::uint64_t{1} << 54);
  }
  EXPECT_EQ(lane.at(lane.records()), PlannedRecord{});
}

TEST(LaneOrderTest, MixedRunLengthsSeekAsWell) {
  auto shape = shape_of({}, 1);
  RandomSource random(2);
  for (int i = 0; i < 40; ++i) shape->shards.push_back({random.below(5000), 1 + random.below(300), 0});
  const LaneOrder lane = lane_of(shape, {.batch = 64, .open_runs = 7, .pool = 50});
  const std::vector<std::uint64_t> ids = ids_of(lane, 0, lane.records());
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t output = random.below(lane.records());
    ASSERT_EQ(lane.at(output).id, ids[output]);
    ASSERT_EQ(ids_of(lane, output, 1).front(), ids[output]);
  }
}

TEST(LaneOrderTest, PoolsOfEverySizeGiveEveryRecordOnce) {
  const auto shape = shape_of({333, 334, 333}, 10);
  std::set<std::vector<std::uint64_t>> orders;
  for (const std::uint32_t pool : {1u, 2u, 255u, 999u, 1000u, 1001u, 1u << 24}) {
    const LaneOrder lane = lane_of(shape, {.batch = 10, .pool = pool});
    std::vector<std::uint64_t> ids = ids_of(lane, 0, 1000);
    orders.insert(ids);
    std::sort(ids.begin(), ids.end());
    for (std::uint64_t id = 0; id < 1000; ++id) ASSERT_EQ(ids[id], id) << "pool " << pool;
  }
  // Pools of at least all records shuffle them alike.
  EXPECT_EQ(orders.size(), 5u);
}

TEST(LaneOrderTest, OpenRunsInterleaveTheFiles) {
  const auto shape = shape_of(std::vector<std::uint64_t>(64, 1000), 100);
  const LaneOrder lane = lane_of(shape, {.batch = 32, .open_runs = 32, .pool = 1});
  for (std::uint64_t first = 0; first < 64000; first += 3200) {
    std::set<std::uint64_t> runs;
    for (const std::uint64_t id : ids_of(lane, first, 32)) runs.insert(id / 100);
    ASSERT_EQ(runs.size(), 32u) << "32 records in a row come from 32 runs";
  }
}

TEST(LaneOrderTest, ThePoolMovesRecordsByItsSizeOnAverage) {
  const std::vector<std::uint64_t> inputs = inputs_of_outputs(shape_of({20000}, 20000), {.pool = 256});
  std::uint64_t waited = 0;
  for (std::uint64_t output = 5000; output < 10000; ++output) waited += output + 256 - inputs[output];
  EXPECT_NEAR(static_cast<double>(waited) / 5000, 256, 15);
}

TEST(LaneOrderTest, PastTheEndThereIsNothing) {
  const LaneOrder lane = lane_of(shape_of({5}), {.batch = 2, .tail = Tail::pad});
  for (const std::uint64_t output : {std::uint64_t{5}, std::uint64_t{6}, std::uint64_t{1} << 60}) {
    EXPECT_EQ(lane.at(output), PlannedRecord{});
    LaneCursor cursor = lane.cursor(output);
    Pick pick{1, 1};
    cursor.next({&pick, 1});
    EXPECT_FALSE(pick.planned());
    EXPECT_EQ(cursor.record(pick), PlannedRecord{});
    EXPECT_EQ(cursor.position(), output + 1);
  }
}

TEST(LaneOrderTest, WrapsManyTimes) {
  const LaneOrder lane = lane_of(shape_of({3, 4}, 2), {.batch = 1, .tail = Tail::wrap, .open_runs = 2, .pool = 3});
  const std::vector<std::uint64_t> ids = ids_of(lane, 0, 70);
  for (std::uint64_t output = 0; output < 70; ++output) {
    ASSERT_EQ(ids[output], ids[output % 7]);
    ASSERT_EQ(lane.at(output).id, ids[output]);
    ASSERT_EQ(lane.at(output).status, output < 7 ? RowStatus::first : RowStatus::repeated);
  }
  EXPECT_EQ(lane.at((std::uint64_t{1} << 57) + 3).status, RowStatus::repeated);
}

TEST(LaneCursorTest, AnEmptyRequestChangesNothing) {
  const LaneOrder lane = lane_of(shape_of({50}), {});
  LaneCursor cursor = lane.cursor(7);
  cursor.next({});
  EXPECT_EQ(cursor.position(), 7u);
}

TEST(LaneCursorTest, MovesAndOutlivesPlanEpochAndLane) {
  LaneCursor cursor = lane_of(shape_of({50, 60}), {.batch = 3}).cursor(11);
  const std::vector<std::uint64_t> wanted = ids_of(lane_of(shape_of({50, 60}), {.batch = 3}), 11, 20);
  LaneCursor moved = std::move(cursor);
  std::vector<Pick> picks(20);
  moved.next(picks);
  for (std::size_t i = 0; i < picks.size(); ++i) EXPECT_EQ(moved.record(picks[i]).id, wanted[i]);
}

}  // namespace
}  // namespace dovetail::test
