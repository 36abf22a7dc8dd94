// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "tests/plan/random_source.h"
#include "tests/plan/shapes.h"

namespace dovetail::test {
namespace {

using Ids = std::vector<std::uint64_t>;

/// The ids of one step of one rank, in row order.
Ids batch_of(const EpochPlan& epoch, std::uint32_t rank, std::uint64_t step) {
  Ids ids;
  for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
    const Ids part =
        ids_of(epoch.lane(epoch.first_lane(rank) + lane), step * epoch.rows_per_lane(), epoch.rows_per_lane());
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

/// Every row of an epoch: global batch after global batch, rank after rank.
Ids global_rows(const Plan& plan, std::uint32_t number) {
  const EpochPlan epoch = plan.epoch(number).value();
  Ids ids;
  for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
    for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
      const Ids batch = batch_of(epoch, rank, step);
      EXPECT_EQ(batch.size(), plan.options().batch);
      ids.insert(ids.end(), batch.begin(), batch.end());
    }
  }
  return ids;
}

Ids all_ids(std::uint64_t records) {
  Ids ids(records);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

Plan make(const std::vector<std::uint64_t>& records, const PlanOptions& options, std::uint64_t run_records = 4) {
  return Plan::make(shape_of(records, run_records), options).value();
}

TEST(EpochPlanTest, AnyWorldGivesTheSameGlobalBatches) {
  const std::vector<std::uint64_t> shards{50, 70, 31, 64};
  for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
    PlanOptions options{.world = 1, .batch = 24, .lanes = 12, .tail = tail, .open_runs = 3, .pool = 8, .seed = 5};
    const Plan one = make(shards, options);
    const Ids wanted = global_rows(one, 2);
    for (const std::uint32_t world : {2u, 3u, 4u, 6u, 12u}) {
      options.world = world;
      options.batch = 24 / world;
      const Plan other = make(shards, options);
      EXPECT_EQ(global_rows(other, 2), wanted) << "world " << world;
      EXPECT_EQ(other.epoch(2)->digest(), one.epoch(2)->digest());
      EXPECT_EQ(other.order_id(), one.order_id());
    }
  }
}

TEST(EpochPlanTest, ReplicasReadTheSameRows) {
  const EpochPlan epoch = make({40, 50}, {.world = 6, .batch = 5, .replicate = 3}).epoch(0).value();
  for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
    for (const std::uint32_t rank : {1u, 2u}) EXPECT_EQ(batch_of(epoch, rank, step), batch_of(epoch, 0, step));
    for (const std::uint32_t rank : {4u, 5u}) EXPECT_EQ(batch_of(epoch, rank, step), batch_of(epoch, 3, step));
    EXPECT_NE(batch_of(epoch, 0, step), batch_of(epoch, 3, step));
  }
  EXPECT_EQ(epoch.rows(), epoch.steps() * 10);
  EXPECT_EQ(epoch.share(0).records, epoch.share(2).records);
}

TEST(EpochPlanTest, SequentialRanksReadContiguousRangesInDatasetOrder) {
  const Plan plan = make({10, 0, 25, 7}, {.world = 3, .batch = 4, .order = OrderKind::sequential, .tail = Tail::pad});
  const EpochPlan epoch = plan.epoch(9).value();
  Ids ids;
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    const Ids part = ids_of(epoch.lane(lane), 0, epoch.lane(lane).records());
    ids.insert(ids.end(), part.begin(), part.end());
  }
  EXPECT_EQ(ids, all_ids(42));
}

TEST(EpochPlanTest, EvenLanesDifferByOneRecordAtMost) {
  for (const std::uint32_t lanes : {1u, 2u, 7u, 30u, 64u}) {
    const EpochPlan epoch = make({30, 1, 0, 99, 5}, {.world = lanes, .tail = Tail::pad}).epoch(1).value();
    std::set<std::uint64_t> sizes;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) sizes.insert(epoch.lane(lane).records());
    EXPECT_LE(*sizes.rbegin() - *sizes.begin(), 1u) << lanes << " lanes";
  }
}

TEST(EpochPlanTest, WholeFilesStayInOneLane) {
  const EpochPlan epoch =
      make({9, 8, 7, 6, 5, 4}, {.world = 4, .assign = Assign::files, .tail = Tail::pad}).epoch(3).value();
  std::vector<std::set<std::uint32_t>> lanes_of(6);
  for (std::uint32_t number = 0; number < 4; ++number) {
    const LaneOrder lane = epoch.lane(number);
    LaneCursor cursor = lane.cursor();
    std::vector<Pick> picks(lane.records());
    cursor.next(picks);
    for (const Pick& pick : picks) lanes_of[cursor.run_of(pick).shard].insert(number);
  }
  for (const auto& lanes : lanes_of) EXPECT_EQ(lanes.size(), 1u);
}

TEST(EpochPlanTest, EpochsAndSeedsShuffleAnewAndLanesDiffer) {
  const std::vector<std::uint64_t> shards(16, 64);
  const PlanOptions options{.world = 2, .batch = 16};
  const Plan plan = make(shards, options);
  PlanOptions reseeded = options;
  reseeded.seed = 1;
  std::set<Ids> orders;
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
    orders.insert(global_rows(plan, epoch));
    orders.insert(global_rows(make(shards, reseeded), epoch));
  }
  EXPECT_EQ(orders.size(), 10u);
  EXPECT_EQ(sorted(*orders.begin()), all_ids(16 * 64));
}

TEST(EpochPlanTest, DropLeavesOutOtherRecordsInEachEpoch) {
  const Plan plan = make({100, 103}, {.world = 4, .batch = 8});
  std::set<Ids> kept;
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    const Ids ids = sorted(global_rows(plan, epoch));
    EXPECT_EQ(ids.size(), 192u);
    EXPECT_EQ(plan.epoch(epoch)->dropped(), 11u);
    kept.insert(ids);
  }
  EXPECT_EQ(kept.size(), 4u);
}

TEST(EpochPlanTest, BatchLargerThanTheDatasetIsPaddedOrWrapped) {
  const std::vector<std::uint64_t> shards{2, 1};
  const EpochPlan padded = make(shards, {.batch = 8, .tail = Tail::pad}).epoch(0).value();
  EXPECT_EQ(padded.steps(), 1u);
  EXPECT_EQ(padded.padded(), 5u);
  const Ids rows = batch_of(padded, 0, 0);
  EXPECT_EQ(sorted({rows.begin(), rows.begin() + 3}), all_ids(3));
  EXPECT_EQ(Ids(rows.begin() + 3, rows.end()), Ids(5, kNoId));

  const EpochPlan wrapped = make(shards, {.batch = 8, .tail = Tail::wrap}).epoch(0).value();
  const LaneOrder lane = wrapped.lane(0);
  const Ids repeated = batch_of(wrapped, 0, 0);
  for (std::uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(repeated[i], repeated[i % 3]);
    EXPECT_EQ(lane.at(i).status, i < 3 ? RowStatus::first : RowStatus::repeated);
  }
  EXPECT_EQ(wrapped.delivered(), 3u);
  EXPECT_EQ(wrapped.padded(), 5u);
}

TEST(EpochPlanTest, MoreLanesThanRecordsArePaddedWithEmptyBatches) {
  const Plan plan = make({1}, {.world = 5, .batch = 2, .tail = Tail::pad});
  const EpochPlan epoch = plan.epoch(0).value();
  EXPECT_EQ(epoch.steps(), 1u);
  std::uint64_t planned = 0;
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    const LaneOrder lane = epoch.lane(rank);
    for (std::uint64_t i = 0; i < 2; ++i) planned += lane.at(i).id != kNoId ? 1 : 0;
    EXPECT_EQ(epoch.share(rank).records, lane.records());
  }
  EXPECT_EQ(planned, 1u);
  EXPECT_EQ(epoch.digest(), record_digest(0));
}

TEST(EpochPlanTest, EmptyShardsChangeNothingButTheLine) {
  const EpochPlan epoch = make({0, 0, 13, 0}, {.world = 2, .batch = 3, .tail = Tail::pad}).epoch(4).value();
  Ids ids = batch_of(epoch, 0, 0);
  for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      if (step == 0 && rank == 0) continue;
      const Ids more = batch_of(epoch, rank, step);
      ids.insert(ids.end(), more.begin(), more.end());
    }
  }
  std::erase(ids, kNoId);
  EXPECT_EQ(sorted(ids), all_ids(13));
  EXPECT_EQ(epoch.share(0).shards, 1u);
}

TEST(EpochPlanTest, ShareCountsShardsOnceAndScalesBytes) {
  auto shape = shape_of({100, 100}, 10);
  shape->shards[0].raw_bytes = 1000;
  shape->shards[1].raw_bytes = 5000;
  const auto share_of = [&](const PlanOptions& options, std::uint32_t rank) {
    return Plan::make(shape, options)->epoch(0)->share(rank);
  };
  const RankShare all = share_of({.world = 1, .batch = 10, .lanes = 5}, 0);
  EXPECT_EQ(all.records, 200u);
  EXPECT_EQ(all.shards, 2u);
  EXPECT_EQ(all.bytes_estimate, 6000u);

  const PlanOptions half{.world = 2, .batch = 10, .order = OrderKind::sequential};
  EXPECT_EQ(share_of(half, 0).bytes_estimate, 1000u);
  EXPECT_EQ(share_of(half, 1).bytes_estimate, 5000u);
  EXPECT_EQ(share_of(half, 1).shards, 1u);

  EXPECT_FALSE(share_of({.world = 2, .batch = 10, .order = OrderKind::global}, 0).shards);

  const PlanOptions dropping{.world = 1, .batch = 150};
  EXPECT_EQ(share_of(dropping, 0).records, 150u);
  EXPECT_EQ(share_of(dropping, 0).bytes_estimate, 4500u);
}

TEST(EpochPlanTest, HugeByteCountsSaturate) {
  auto shape = shape_of({100, 100});
  for (ShardShape& shard : shape->shards) shard.raw_bytes = ~std::uint64_t{0};
  EXPECT_EQ(Plan::make(shape, {})->epoch(0)->share(0).bytes_estimate, ~std::uint64_t{0});
}

TEST(EpochPlanTest, DigestIsTheSumOverWhatIsDelivered) {
  for (const Assign assign : {Assign::even, Assign::files}) {
    const Plan plan = make({70000, 60000, 90001}, {.world = 3, .batch = 1000, .assign = assign}, 100);
    const EpochPlan epoch = plan.epoch(0).value();
    EXPECT_GT(epoch.dropped(), 0u);
    Hash128 digest;
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      for (const std::uint64_t id : ids_of(epoch.lane(lane), 0, epoch.steps() * 1000)) digest += record_digest(id);
    }
    EXPECT_EQ(epoch.digest(), digest);
  }
}

}  // namespace
}  // namespace dovetail::test
