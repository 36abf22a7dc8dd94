// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tests/plan/random_case.h"
#include "tests/plan/shapes.h"

namespace dovetail::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::uint64_t> kTwentyShards(20, 1000);

Plan make(const std::vector<std::uint64_t>& records, std::uint64_t run_records, const PlanOptions& options) {
  return Plan::make(shape_of(records, run_records), options).value();
}

MixingReport measure(const Plan& plan, std::uint32_t epoch = 0) {
  return measure_mixing(plan, plan.epoch(epoch).value());
}

std::uint32_t shard_of(const DatasetShape& dataset, std::uint64_t id) {
  std::uint32_t shard = 0;
  while (id >= dataset.shards[shard].records) id -= dataset.shards[shard++].records;
  return shard;
}

/// The ids of the present phase of one lane, computed one by one.
std::vector<std::uint64_t> lane_ids(const EpochPlan& epoch, std::uint32_t lane) {
  std::vector<std::uint64_t> ids;
  const LaneOrder order = epoch.lane(lane);
  const std::uint64_t end = epoch.first_output(epoch.steps());
  for (std::uint64_t output = 0; output < end; ++output) ids.push_back(order.at(output).id);
  return ids;
}

/// The same numbers, straight from their definitions.
Mixing naive_mixing(const Plan& plan, const EpochPlan& epoch) {
  struct Sums {
    double batches = 0, shards = 0, top_two = 0, most = 0, least = 1e18;
  } full, partial;
  double placed = 0, displacement = 0, pairs = 0, neighbours = 0;
  std::vector<std::vector<std::uint64_t>> lanes;
  for (std::uint32_t lane = 0; lane < epoch.lanes(); ++lane) lanes.push_back(lane_ids(epoch, lane));
  for (const auto& ids : lanes) {
    for (std::size_t i = 1; i < ids.size(); ++i) {
      if (ids[i] == kNoId || ids[i - 1] == kNoId) continue;
      ++pairs;
      if (ids[i] + 1 == ids[i - 1] || ids[i] == ids[i - 1] + 1) ++neighbours;
    }
    std::vector<std::pair<std::uint64_t, double>> places;
    for (const std::uint64_t id : ids) {
      if (id != kNoId) places.emplace_back(id, static_cast<double>(places.size()));
    }
    std::sort(places.begin(), places.end());
    double distance = 0;
    for (std::size_t i = 0; i < places.size(); ++i) distance += std::abs(static_cast<double>(i) - places[i].second);
    if (!places.empty()) displacement += distance / static_cast<double>(places.size());
    placed += static_cast<double>(places.size());
  }
  for (std::uint64_t step = 0; step < epoch.steps() - epoch.first_step(); ++step) {
    for (std::uint32_t reader = 0; reader < plan.readers(); ++reader) {
      std::map<std::uint32_t, double> counts;
      double rows = 0;
      for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
        for (std::uint64_t row = 0; row < epoch.rows_per_lane(); ++row) {
          const std::uint64_t id = lanes[reader * epoch.lanes_per_rank() + lane][step * epoch.rows_per_lane() + row];
          if (id == kNoId) continue;
          ++counts[shard_of(plan.dataset(), id)];
          ++rows;
        }
      }
      if (rows == 0) continue;
      std::vector<double> sizes;
      for (const auto& [shard, count] : counts) sizes.push_back(count);
      std::sort(sizes.rbegin(), sizes.rend());
      const double top_two = (sizes[0] + (sizes.size() > 1 ? sizes[1] : 0)) / rows;
      Sums& sums = rows == plan.options().batch ? full : partial;
      ++sums.batches;
      sums.shards += static_cast<double>(sizes.size());
      sums.least = std::min(sums.least, static_cast<double>(sizes.size()));
      sums.top_two += top_two;
      sums.most = std::max(sums.most, top_two);
    }
  }
  const Sums& sums = full.batches > 0 ? full : partial;
  Mixing mixing;
  if (sums.batches > 0) {
    mixing.mean_shards = sums.shards / sums.batches;
    mixing.least_shards = static_cast<std::uint64_t>(sums.least);
    mixing.mean_top_two = sums.top_two / sums.batches;
    mixing.most_top_two = sums.most;
  }
  if (placed > 0) mixing.displacement = displacement / placed;
  if (pairs > 0) mixing.neighbours = neighbours / pairs;
  return mixing;
}

TEST(MixingTest, IsWhatItsDefinitionsSayForAnyPlan) {
  RandomSource random(41);
  int measured = 0;
  for (int i = 0; i < 600; ++i) {
    const RandomCase what = random_case(random);
    const auto plan = Plan::make(what.dataset, what.options);
    if (!plan) continue;
    const auto epoch = plan->epoch(what.epoch);
    if (!epoch || epoch->rows() > 5000) continue;
    SCOPED_TRACE(what.describe());
    const MixingReport report = measure_mixing(*plan, *epoch);
    const Mixing wanted = naive_mixing(*plan, *epoch);
    EXPECT_NEAR(report.plan.mean_shards, wanted.mean_shards, 1e-9);
    EXPECT_EQ(report.plan.least_shards, wanted.least_shards);
    EXPECT_NEAR(report.plan.mean_top_two, wanted.mean_top_two, 1e-9);
    EXPECT_NEAR(report.plan.most_top_two, wanted.most_top_two, 1e-9);
    EXPECT_NEAR(report.plan.displacement, wanted.displacement, 1e-9);
    EXPECT_NEAR(report.plan.neighbours, wanted.neighbours, 1e-9);
    ++measured;
  }
  EXPECT_GT(measured, 200);
}

TEST(MixingTest, FullShuffleHasTheExpectedNumbers) {
  const Plan plan = make(kTwentyShards, 100, {.world = 2, .batch = 50});
  const MixingReport report = measure(plan);
  // A batch misses a shard if all of its 50 records are among the other 19,000 of 20,000.
  double missed = 1;
  for (int i = 0; i < 50; ++i) missed *= (19000.0 - i) / (20000.0 - i);
  EXPECT_NEAR(report.full_shuffle.mean_shards, 20 * (1 - missed), 0.15);
  EXPECT_NEAR(report.full_shuffle.displacement, 1.0 / 3, 0.01);
  EXPECT_NEAR(report.full_shuffle.neighbours, 2.0 / 20000, 0.0004);
  EXPECT_EQ(report.batches, 400u);
  EXPECT_EQ(report.all_batches, 400u);
  EXPECT_EQ(report.rows, 20000u);
}

TEST(MixingTest, SequentialIsWeakInEveryWay) {
  const MixingReport report = measure(make(kTwentyShards, 100, {.batch = 256, .order = OrderKind::sequential}));
  EXPECT_TRUE(report.weak());
  EXPECT_THAT(report.flaws, ElementsAre(MixingFlaw::few_shards, MixingFlaw::poor_batch, MixingFlaw::top_heavy,
                                        MixingFlaw::in_place, MixingFlaw::neighbours));
  EXPECT_EQ(report.plan.displacement, 0);
  EXPECT_EQ(report.plan.neighbours, 1);
}

TEST(MixingTest, GlobalIsAsGoodAsAFullShuffle) {
  for (const std::uint32_t world : {1u, 4u}) {
    const MixingReport report =
        measure(make(kTwentyShards, 100, {.world = world, .batch = 64, .order = OrderKind::global, .seed = 3}));
    EXPECT_THAT(report.flaws, IsEmpty());
    EXPECT_NEAR(report.plan.mean_shards, report.full_shuffle.mean_shards, 0.15);
    EXPECT_NEAR(report.plan.mean_top_two, report.full_shuffle.mean_top_two, 0.005);
    EXPECT_NEAR(report.plan.displacement, 1.0 / 3, 0.01);
    EXPECT_LT(report.plan.neighbours, 0.001);
  }
}

TEST(MixingTest, RunAfterRunIsWeakAndNamesWhatIsMissing) {
  const MixingReport report = measure(make(kTwentyShards, 100, {.batch = 256, .open_runs = 1, .pool = 1}));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::few_shards));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::top_heavy));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::neighbours));
  EXPECT_NEAR(report.plan.neighbours, 0.99, 0.01);
  // Runs are permuted over the whole lane.
  EXPECT_NEAR(report.plan.displacement, 1.0 / 3, 0.05);
}

TEST(MixingTest, OneRunAsLongAsTheLaneStaysInPlace) {
  const MixingReport report = measure(make({50000}, 50000, {.batch = 64}));
  EXPECT_THAT(report.flaws, ElementsAre(MixingFlaw::in_place));
  EXPECT_LT(report.plan.displacement, 0.01);
}

TEST(MixingTest, RanksWithFewShardsAreWeak) {
  const MixingReport report = measure(make(kTwentyShards, 100, {.world = 10, .batch = 32}));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::few_shards));
  EXPECT_LE(report.plan.mean_shards, 3);
}

TEST(MixingTest, DefaultsAreNotWeakForManyShards) {
  const std::vector<std::uint64_t> shards(1000, 2000);
  for (const std::uint32_t world : {1u, 8u}) {
    for (const std::uint32_t batch : {1u, 4u, 16u, 32u, 256u}) {
      const Plan plan = make(shards, 128, {.world = world, .batch = batch});
      const MixingReport report = measure_mixing(plan, plan.epoch(0).value(), 1 << 18);
      EXPECT_THAT(report.flaws, IsEmpty()) << "world " << world << ", batch " << batch;
    }
  }
}

TEST(MixingTest, ASampleTellsWhatTheWholeTells) {
  const Plan plan = make(std::vector<std::uint64_t>(200, 2000), 64, {.world = 20, .batch = 40});
  const EpochPlan epoch = plan.epoch(1).value();
  const MixingReport whole = measure_mixing(plan, epoch);
  const MixingReport sample = measure_mixing(plan, epoch, 40000);
  EXPECT_EQ(whole.batches, whole.all_batches);
  EXPECT_LE(sample.rows, 40000u);
  EXPECT_GE(sample.rows, 20000u);
  EXPECT_EQ(sample.all_batches, whole.all_batches);
  EXPECT_NEAR(sample.plan.mean_shards, whole.plan.mean_shards, 0.05 * whole.plan.mean_shards);
  EXPECT_NEAR(sample.plan.mean_top_two, whole.plan.mean_top_two, 0.02);
  EXPECT_NEAR(sample.plan.displacement, whole.plan.displacement, 0.05);
  EXPECT_NEAR(sample.full_shuffle.mean_shards, whole.full_shuffle.mean_shards, 0.3);
}

TEST(MixingTest, BatchesWithEmptyRowsDoNotCountBesideFullOnes) {
  const Plan plan = make({50, 51}, 4, {.batch = 25, .tail = Tail::pad});
  const MixingReport report = measure(plan);
  EXPECT_EQ(report.all_batches, 5u);
  EXPECT_EQ(report.batches, 4u);
  EXPECT_EQ(report.plan.least_shards, 2u);

  const MixingReport tiny = measure(make({2, 1}, 4, {.batch = 8, .tail = Tail::pad}));
  EXPECT_EQ(tiny.batches, 1u);
  EXPECT_EQ(tiny.plan.least_shards, 2u);
}

TEST(MixingTest, RowsOfAMixKeepTheirSource) {
  auto shape = shape_of(std::vector<std::uint64_t>(11, 1000), 50);
  shape->source_shards = {1, 10};
  const auto plan = Plan::make(shape, {.batch = 40, .mix = {.schedule = {{0, {3, 1}}}}});
  const MixingReport report = measure_mixing(*plan, plan->epoch(0).value());
  // 30 rows are the first shard's, and 10 rows of ten shards hit 6.5 of them on average.
  EXPECT_NEAR(report.full_shuffle.mean_shards, 1 + 10 * (1 - std::pow(0.9, 10)), 0.5);
  EXPECT_GT(report.full_shuffle.mean_top_two, 0.77);
  EXPECT_NEAR(report.plan.mean_top_two, report.full_shuffle.mean_top_two, 0.05);
}

TEST(MixingTest, TheRestOfAnEpochIsMeasuredAfterAChangeOfWorld) {
  const auto shape = shape_of(kTwentyShards, 50);
  const Plan before = Plan::make(shape, {.world = 4, .batch = 25}).value();
  const State state = before.state({2, 120}).value();
  const Plan after = Plan::resume(shape, state.options(2, 32), state).value();
  const MixingReport report = measure_mixing(after, after.epoch(2).value());
  EXPECT_EQ(report.all_batches, 2u * ((20000 - 120 * 100) / 64));
  EXPECT_GT(report.plan.mean_shards, 5);
}

TEST(MixingTest, AnEpochWithoutFurtherStepsHasNothingToMeasure) {
  const auto shape = shape_of({100}, 10);
  const Plan before = Plan::make(shape, {.batch = 10}).value();
  const State state = before.state({0, 10}).value();
  const Plan after = Plan::resume(shape, state.options(2, 3), state).value();
  const MixingReport report = measure_mixing(after, after.epoch(0).value());
  EXPECT_EQ(report.batches, 0u);
  EXPECT_FALSE(report.weak());
  EXPECT_THAT(map_mixing(after, after.epoch(0).value()).rows, IsEmpty());
}

const std::vector<std::uint64_t> kRunLengths{1,   2,   3,   5,   7,   10,  16,  20,  32,  50,  64,   100, 128,
                                             200, 250, 256, 300, 333, 400, 500, 512, 700, 999, 1000, 5000};

/// Twenty shards of one class each: the case in which mixing matters most. Any run length has to do.
class OneClassPerShardTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(OneClassPerShardTest, DefaultsPutMostClassesInEveryBatch) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Plan plan = make(kTwentyShards, GetParam(), {.batch = 256, .seed = seed});
    for (std::uint32_t number = 0; number < 2; ++number) {
      const MixingReport report = measure(plan, number);
      EXPECT_GE(report.plan.mean_shards, 16) << "seed " << seed << ", epoch " << number;
      EXPECT_GE(report.plan.least_shards, 12u) << "seed " << seed << ", epoch " << number;
      EXPECT_LT(report.plan.mean_top_two, 0.27) << "seed " << seed << ", epoch " << number;
      EXPECT_THAT(report.flaws, IsEmpty()) << "seed " << seed << ", epoch " << number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RunLengths, OneClassPerShardTest, ::testing::ValuesIn(kRunLengths),
                         ::testing::PrintToStringParamName());

/// A line of the table in docs/mixing.md: the least that any run length and seed gives.
std::string table_line(std::uint32_t open_runs) {
  double mean = 20;
  std::uint64_t least = 20;
  double top_two = 0;
  for (const std::uint64_t run_records : kRunLengths) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const PlanOptions options{.batch = 256, .open_runs = open_runs, .seed = seed};
      const Mixing mixing = measure(make(kTwentyShards, run_records, options)).plan;
      mean = std::min(mean, mixing.mean_shards);
      least = std::min(least, mixing.least_shards);
      top_two = std::max(top_two, mixing.mean_top_two);
    }
  }
  std::array<char, 80> line{};
  std::snprintf(line.data(), line.size(), "| %u | %.1f | %u | %.1f %% |", open_runs, mean, static_cast<unsigned>(least),
                100 * top_two);
  return line.data();
}

TEST(MixingDocTest, TheTableIsWhatIsMeasured) {
  std::ifstream file(DOVETAIL_MIXING_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const std::uint32_t open_runs : {16u, 32u, 64u, 96u, 128u}) {
    EXPECT_THAT(page, HasSubstr('\n' + table_line(open_runs) + '\n'));
  }
}

TEST(MixingMapTest, CountsEveryRowOnceByShardAndStep) {
  RandomSource random(42);
  int mapped = 0;
  for (int i = 0; i < 200; ++i) {
    const RandomCase what = random_case(random);
    const auto plan = Plan::make(what.dataset, what.options);
    if (!plan || !plan->epoch(what.epoch) || plan->epoch(what.epoch)->rows() > 5000) continue;
    SCOPED_TRACE(what.describe());
    const EpochPlan epoch = plan->epoch(what.epoch).value();
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> wanted;
    for (std::uint32_t lane = 0; lane < epoch.lanes(); ++lane) {
      const std::vector<std::uint64_t> ids = lane_ids(epoch, lane);
      for (std::size_t output = 0; output < ids.size(); ++output) {
        if (ids[output] == kNoId) continue;
        ++wanted[{shard_of(plan->dataset(), ids[output]), output / epoch.rows_per_lane()}];
      }
    }
    const MixingMap map = map_mixing(*plan, epoch, {.rank = {}, .max_shard_bins = 1000, .max_step_bins = 10000});
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> found;
    for (std::size_t shard = 0; shard < map.first_shard.size(); ++shard) {
      for (std::size_t step = 0; step < map.first_step.size(); ++step) {
        const std::uint64_t rows = map.rows[shard * map.first_step.size() + step];
        if (rows > 0) found[{map.shards[map.first_shard[shard]], map.first_step[step]}] = rows;
      }
    }
    EXPECT_EQ(found, wanted);
    EXPECT_TRUE(map.complete);
    ++mapped;
  }
  EXPECT_GT(mapped, 60);
}

TEST(MixingMapTest, BinsLoseNothing) {
  const Plan plan = make(std::vector<std::uint64_t>(100, 300), 16, {.world = 2, .batch = 30});
  const EpochPlan epoch = plan.epoch(0).value();
  const MixingMap map = map_mixing(plan, epoch, {.rank = {}, .max_shard_bins = 7, .max_step_bins = 11});
  EXPECT_EQ(map.first_shard.size(), 7u);
  EXPECT_EQ(map.first_step.size(), 11u);
  std::uint64_t rows = 0;
  for (const std::uint64_t count : map.rows) rows += count;
  EXPECT_EQ(rows, epoch.rows());
}

TEST(MixingMapTest, OfOneRankHasItsShardsOnly) {
  const Plan plan = make(std::vector<std::uint64_t>(12, 300), 16, {.world = 8, .batch = 15, .replicate = 2});
  const EpochPlan epoch = plan.epoch(0).value();
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const MixingMap map = map_mixing(plan, epoch, {.rank = rank});
    EXPECT_EQ(map.shards.size(), epoch.share(rank).shards);
    std::uint64_t rows = 0;
    for (const std::uint64_t count : map.rows) rows += count;
    EXPECT_EQ(rows, epoch.share(rank).records);
  }
}

TEST(MixingMapTest, ALargeEpochIsSampledEvenly) {
  const Plan plan = make(std::vector<std::uint64_t>(50, 100000), 64, {.world = 4, .batch = 100});
  const MixingMap map = map_mixing(plan, plan.epoch(0).value(), {.rank = {}, .max_rows = 100000});
  ASSERT_EQ(map.first_step.size(), 250u) << "one batch of four ranks in each bin";
  std::set<std::uint64_t> columns;
  for (std::size_t step = 0; step < map.first_step.size(); ++step) {
    std::uint64_t rows = 0;
    for (std::size_t shard = 0; shard < map.first_shard.size(); ++shard) {
      rows += map.rows[shard * map.first_step.size() + step];
    }
    columns.insert(rows);
  }
  EXPECT_THAT(columns, ElementsAre(400u));
  EXPECT_FALSE(map.complete);
}

}  // namespace
}  // namespace dovetail::testing
