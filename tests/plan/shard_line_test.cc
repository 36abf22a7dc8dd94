// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>
#include <dovetail/shard_line.h>
#include <dovetail/state.h>

#include "tests/plan/random_case.h"
#include "tests/plan/shapes.h"

namespace dovetail::test {
namespace {

std::vector<LinePart> line_of(const std::shared_ptr<DatasetShape>& dataset, const PlanOptions& options,
                              std::uint32_t epoch = 0) {
  return shard_line(Plan::make(dataset, options).value(), epoch).value();
}

/// The ids that the line gives to a lane.
std::set<std::uint64_t> ids_on_line(const DatasetShape& dataset, const std::vector<LinePart>& line,
                                    std::uint32_t lane) {
  std::vector<std::uint64_t> first_id{0};
  for (const ShardShape& shard : dataset.shards) first_id.push_back(first_id.back() + shard.records);
  std::set<std::uint64_t> ids;
  for (const LinePart& part : line) {
    if (part.lane != lane) continue;
    for (std::uint64_t record = part.begin; record < part.end; ++record) ids.insert(first_id[part.shard] + record);
  }
  return ids;
}

TEST(ShardLineTest, LanesGiveWhatTheLineGivesThem) {
  RandomSource random(43);
  int checked = 0;
  for (int i = 0; i < 400; ++i) {
    const RandomCase what = random_case(random);
    if (what.options.order == OrderKind::global || what.options.assign == Assign::runs) continue;
    if (what.options.mix.enabled()) continue;
    const auto plan = Plan::make(what.dataset, what.options);
    if (!plan || !plan->epoch(what.epoch)) continue;
    SCOPED_TRACE(what.describe());
    const EpochPlan epoch = plan->epoch(what.epoch).value();
    const std::vector<LinePart> line = shard_line(*plan, what.epoch).value();
    for (std::uint32_t lane = 0; lane < epoch.lanes(); ++lane) {
      const LaneOrder order = epoch.lane(lane);
      const std::vector<std::uint64_t> ids = ids_of(order, 0, order.records());
      EXPECT_EQ(ids_on_line(plan->dataset(), line, lane), std::set<std::uint64_t>(ids.begin(), ids.end()));
    }
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

TEST(ShardLineTest, EveryRecordLiesOnTheLineOnce) {
  const auto dataset = shape_of({10, 0, 25, 7, 1});
  std::map<std::uint32_t, std::uint64_t> records;
  for (const LinePart& part : line_of(dataset, {.world = 4})) records[part.shard] += part.end - part.begin;
  EXPECT_EQ(records, (std::map<std::uint32_t, std::uint64_t>{{0, 10}, {2, 25}, {3, 7}, {4, 1}}));
}

TEST(ShardLineTest, StickyKeepsTheLineAndOthersMoveIt) {
  const auto dataset = shape_of(std::vector<std::uint64_t>(30, 50));
  const PlanOptions options{.world = 4, .batch = 5};
  PlanOptions sticky = options;
  sticky.sticky = true;
  EXPECT_EQ(line_of(dataset, sticky, 0), line_of(dataset, sticky, 7));
  EXPECT_NE(line_of(dataset, options, 0), line_of(dataset, options, 7));
}

TEST(ShardLineTest, AMixHasALineForEachSource) {
  const auto dataset = shape_of({40, 40, 30, 30, 30});
  dataset->source_shards = {2, 3};
  std::map<std::uint32_t, std::uint64_t> records;
  for (const LinePart& part : line_of(dataset, {.world = 2, .mix = {.schedule = {{0, {1, 1}}}}})) {
    EXPECT_EQ(part.source, part.shard < 2 ? 0u : 1u);
    records[part.source] += part.end - part.begin;
  }
  EXPECT_EQ(records, (std::map<std::uint32_t, std::uint64_t>{{0, 80}, {1, 90}}));
}

TEST(ShardLineTest, IsEmptyForTheGlobalOrder) {
  EXPECT_TRUE(line_of(shape_of({40, 40}), {.order = OrderKind::global}).empty());
}

TEST(ShardLineTest, HasTheLanesOfTheBeginningAfterAChangeOfWorld) {
  const auto dataset = shape_of(std::vector<std::uint64_t>(6, 50));
  const Plan before = Plan::make(dataset, {.world = 4, .batch = 5}).value();
  const State state = before.state({1, 3}).value();
  const Plan after = Plan::resume(dataset, state.options(3, 7), state).value();
  EXPECT_EQ(shard_line(after, 1).value(), shard_line(before, 1).value());
  EXPECT_NE(shard_line(after, 2).value(), shard_line(before, 2).value());
}

}  // namespace
}  // namespace dovetail::test
