// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/run_window.h"

#include <map>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reader/delivery/reader_fixture.h"

namespace dovetail::detail {
namespace {

/// Walks a lane through a window as the planner does, and checks where every record is found.
class RunWindowTest : public ::testing::Test {
 protected:
  /// Returns the most runs that were live at a time.
  std::size_t walk(const Dataset& dataset, const PlanOptions& plan, std::uint32_t lane) {
    const std::unique_ptr<Storage> storage = make_pread_pool(1);
    ShardTable shards(dataset, *storage, 64, [] {});
    const std::size_t most = walk(dataset, plan, lane, shards);
    storage->stop();  // it may still be telling the table that a shard is open
    return most;
  }

  testing::TempFolder folder_;

 private:
  std::size_t walk(const Dataset& dataset, const PlanOptions& plan, std::uint32_t lane, ShardTable& shards) {
    const ExtentRules rules{.join_bytes = 4096, .direct_bytes = 16 << 10};
    const LaneOrder order = Plan::make(dataset.shape(), plan).value().epoch(0).value().lane(lane);
    LaneCursor cursor = order.cursor();
    std::vector<Pick> pick(1);
    std::unique_ptr<RunWindow> window;
    std::map<std::uint64_t, std::uint64_t> left;
    std::set<std::uint64_t> seen;
    std::size_t most = 0;
    for (std::uint64_t output = 0; output < order.records(); ++output) {
      cursor.next(pick);
      if (window == nullptr) window = std::make_unique<RunWindow>(cursor.active().front().stretch, rules);
      EXPECT_TRUE(window->holds(pick[0].run))
          << "run " << pick[0].run << " at output " << output << " of " << order.records();
      RunEntry& entry = window->entry(pick[0].run);
      const dovetail::Run expected = cursor.run_of(pick[0]);
      EXPECT_EQ(entry.run.first_id, expected.first_id);
      EXPECT_EQ(entry.run.count, expected.count);
      while (!entry.resolved && !window->resolve(entry, shards)) std::this_thread::yield();
      entry.turn_to(pick[0].record);
      // The block must hold the record, whether or not the run is clipped inside it.
      const std::uint64_t in_shard = entry.run.first_record + pick[0].record;
      EXPECT_EQ(entry.file->block_of(in_shard), entry.file->block_of(entry.run.first_record + entry.block_first));
      EXPECT_LT(pick[0].record - entry.block_first, entry.block_records);
      EXPECT_EQ(entry.extent->user, &entry);
      EXPECT_TRUE(seen.insert(entry.first_id + pick[0].record).second);
      EXPECT_GT(entry.extent_unplanned, 0u);
      if (entry.plan_row(output)) entry.unplanned -= entry.extent->picks;
      left.try_emplace(pick[0].run, entry.run.count);
      most = std::max(most, left.size());
      if (entry.unplanned == 0) {
        for (const Extent& extent : entry.blocks.extents) {
          EXPECT_EQ(&extent == entry.extent ? entry.extent_unplanned : extent.unplanned, 0u);
        }
        left.erase(pick[0].run);
        EXPECT_NE(window->take(pick[0].run), nullptr);
      }
      EXPECT_TRUE(output % 64 != 0 || output + 1 == order.records() || !window->ended());
      if (HasFailure()) return most;
    }
    EXPECT_EQ(seen.size(), order.records());
    EXPECT_TRUE(window->ended());
    std::vector<std::unique_ptr<RunEntry>> rest;
    window->take_all(rest);
    EXPECT_TRUE(rest.empty());
    return most;
  }
};

TEST_F(RunWindowTest, GrowsWhereAPoolKeepsThousandsOfOldRecords) {
  const Dataset dataset =
      testing::make_sample(folder_.path("data"), {.shard_records = {6000, 5000}, .max_bytes = 4, .run_records = 4});
  PlanOptions plan;
  plan.pool = 5000;
  EXPECT_GT(walk(dataset, plan, 0), 1024u) << "the window never had to grow";
}

TEST_F(RunWindowTest, TurnsToTheBlocksOfRunsThatLanesClip) {
  const Dataset dataset = testing::make_sample(
      folder_.path("data"), {.shard_records = {301, 77, 0, 512, 1, 140}, .min_bytes = 100, .run_records = 64});
  for (const std::uint32_t lanes : {1u, 3u, 7u, 40u}) {
    PlanOptions plan;
    plan.lanes = lanes;
    plan.batch = lanes;
    plan.pool = 16;
    plan.tail = Tail::pad;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      SCOPED_TRACE(::testing::Message() << "lane " << lane << " of " << lanes);
      walk(dataset, plan, lane);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace dovetail::detail
