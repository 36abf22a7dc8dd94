// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/mixing.h>
#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tests/plan/random_case.h"
#include "tests/plan/shapes.h"

namespace dovetail::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
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

/// The ids of the present phase of one lane.
std::vector<std::uint64_t> lane_ids(const EpochPlan& epoch, std::uint32_t lane) {
  return ids_of(epoch.lane(lane), 0, epoch.first_output(epoch.steps()));
}

/// The ids of the batches of each step, one list for each reader.
std::vector<std::vector<std::vector<std::uint64_t>>> batches_of(const Plan& plan, const EpochPlan& epoch) {
  std::vector<std::vector<std::uint64_t>> lanes;
  for (std::uint32_t lane = 0; lane < epoch.lanes(); ++lane) lanes.push_back(lane_ids(epoch, lane));
  std::vector<std::vector<std::vector<std::uint64_t>>> steps(epoch.steps() - epoch.first_step());
  for (std::uint64_t step = 0; step < steps.size(); ++step) {
    steps[step].resize(plan.readers());
    for (std::uint32_t lane = 0; lane < epoch.lanes(); ++lane) {
      for (std::uint64_t row = 0; row < epoch.rows_per_lane(); ++row) {
        steps[step][lane / epoch.lanes_per_rank()].push_back(lanes[lane][step * epoch.rows_per_lane() + row]);
      }
    }
  }
  return steps;
}

using Batches = std::vector<std::vector<std::uint64_t>>;

/// The same numbers, straight from their definitions.
BatchMixing naive_mixing(const DatasetShape& dataset, const Batches& batches, const Batches& others) {
  std::uint64_t records = 0;
  for (const ShardShape& shard : dataset.shards) records += shard.records;
  std::map<std::uint64_t, std::size_t> there;
  for (std::size_t batch = 0; batch < others.size(); ++batch) {
    for (const std::uint64_t id : others[batch]) {
      if (id != kNoId) there.emplace(id, batch);
    }
  }
  const bool any_full = std::any_of(batches.begin(), batches.end(), [](const auto& batch) {
    return std::find(batch.begin(), batch.end(), kNoId) == batch.end();
  });
  double counted = 0, slices = 0, shards = 0, next = 0, with_next = 0, shared = 0, pairs = 0;
  BatchMixing mixing;
  mixing.least_slices = 1000;
  mixing.least_shards = 1000;
  for (const auto& batch : batches) {
    std::set<std::uint64_t> ids(batch.begin(), batch.end());
    const bool full = ids.erase(kNoId) == 0;
    std::set<std::uint64_t> of_slices;
    std::set<std::uint32_t> of_shards;
    for (const std::uint64_t id : ids) {
      of_slices.insert(id * 16 / records);
      of_shards.insert(shard_of(dataset, id));
      if (id + 1 < records && shard_of(dataset, id + 1) == shard_of(dataset, id)) {
        next += static_cast<double>(ids.count(id + 1));
        ++with_next;
      }
      for (const std::uint64_t mate : ids) {
        if (mate >= id || there.count(id) == 0 || there.count(mate) == 0) continue;
        shared += there[id] == there[mate] ? 1 : 0;
        ++pairs;
      }
    }
    if (ids.empty() || (any_full && !full)) continue;
    ++counted;
    slices += static_cast<double>(of_slices.size());
    shards += static_cast<double>(of_shards.size());
    mixing.least_slices = std::min<std::uint64_t>(mixing.least_slices, of_slices.size());
    mixing.least_shards = std::min<std::uint64_t>(mixing.least_shards, of_shards.size());
  }
  if (counted == 0) return {};
  mixing.mean_slices = slices / counted;
  mixing.mean_shards = shards / counted;
  mixing.neighbours = with_next > 0 ? next / with_next : 0;
  if (pairs >= 1000) mixing.shared = shared / pairs;
  return mixing;
}

Batches of_ranks(const std::vector<Batches>& steps) {
  Batches batches;
  for (const Batches& step : steps) batches.insert(batches.end(), step.begin(), step.end());
  return batches;
}

Batches of_steps(const std::vector<Batches>& steps) {
  Batches batches;
  for (const Batches& step : steps) {
    std::vector<std::uint64_t>& global = batches.emplace_back();
    for (const auto& batch : step) global.insert(global.end(), batch.begin(), batch.end());
  }
  return batches;
}

/// Of the steps of the records that come in both epochs.
std::optional<double> naive_correlation(const Batches& steps, const Batches& others) {
  const auto first_steps = [](const Batches& batches) {
    std::map<std::uint64_t, double> places;
    for (std::size_t step = 0; step < batches.size(); ++step) {
      for (const std::uint64_t id : batches[step]) {
        if (id != kNoId) places.emplace(id, static_cast<double>(step));
      }
    }
    return places;
  };
  const auto here = first_steps(steps);
  const auto there = first_steps(others);
  std::vector<std::pair<double, double>> both;
  double x_mean = 0, y_mean = 0;
  for (const auto& [id, step] : here) {
    if (there.count(id) == 0) continue;
    both.emplace_back(step, there.at(id));
    x_mean += step;
    y_mean += there.at(id);
  }
  if (both.size() < 256) return {};
  x_mean /= static_cast<double>(both.size());
  y_mean /= static_cast<double>(both.size());
  double xx = 0, yy = 0, xy = 0;
  for (const auto& [x, y] : both) {
    xx += (x - x_mean) * (x - x_mean);
    yy += (y - y_mean) * (y - y_mean);
    xy += (x - x_mean) * (y - y_mean);
  }
  if (xx == 0 || yy == 0) return {};
  return xy / std::sqrt(xx * yy);
}

void expect_near(const BatchMixing& found, const BatchMixing& wanted) {
  EXPECT_NEAR(found.mean_slices, wanted.mean_slices, 1e-9);
  EXPECT_EQ(found.least_slices, wanted.least_slices);
  EXPECT_NEAR(found.mean_shards, wanted.mean_shards, 1e-9);
  EXPECT_EQ(found.least_shards, wanted.least_shards);
  EXPECT_NEAR(found.neighbours, wanted.neighbours, 1e-9);
  EXPECT_EQ(found.shared.has_value(), wanted.shared.has_value());
  EXPECT_NEAR(found.shared.value_or(0), wanted.shared.value_or(0), 1e-9);
}

TEST(MixingTest, IsWhatItsDefinitionsSayForAnyPlan) {
  RandomSource random(41);
  int measured = 0;
  int compared = 0;
  for (int i = 0; i < 600; ++i) {
    const RandomCase what = random_case(random);
    const auto plan = Plan::make(what.dataset, what.options);
    if (!plan) continue;
    const auto epoch = plan->epoch(what.epoch);
    const auto other = plan->epoch(what.epoch == 0 ? 1 : what.epoch - 1);
    if (!epoch || epoch->rows() > 5000 || !other || other->rows() > 5000) continue;
    SCOPED_TRACE(what.describe());
    const MixingReport report = measure_mixing(*plan, *epoch);
    const std::vector<Batches> steps = batches_of(*plan, *epoch);
    const std::vector<Batches> others = batches_of(*plan, *other);
    expect_near(report.plan.rank, naive_mixing(plan->dataset(), of_ranks(steps), of_ranks(others)));
    expect_near(report.plan.global, naive_mixing(plan->dataset(), of_steps(steps), of_steps(others)));
    const std::optional<double> together = naive_correlation(of_steps(steps), of_steps(others));
    ASSERT_EQ(report.plan.correlation.has_value(), together.has_value());
    EXPECT_NEAR(report.plan.correlation.value_or(0), together.value_or(0), 1e-9);
    ++measured;
    compared += report.plan.rank.shared && together ? 1 : 0;
  }
  EXPECT_GT(measured, 200);
  EXPECT_GT(compared, 5);
}

TEST(MixingTest, TrueShuffleHasTheExpectedNumbers) {
  const Plan plan = make(kTwentyShards, 100, {.world = 2, .batch = 50});
  const MixingReport report = measure(plan);
  const auto expected = [](double parts, int rows) {
    // A batch misses a part if all of its records are among the others of 20,000.
    double missed = 1;
    for (int i = 0; i < rows; ++i) missed *= (20000 - 20000 / parts - i) / (20000.0 - i);
    return parts * (1 - missed);
  };
  EXPECT_NEAR(report.true_shuffle.rank.mean_shards, expected(20, 50), 0.15);
  EXPECT_NEAR(report.true_shuffle.rank.mean_slices, expected(16, 50), 0.15);
  EXPECT_NEAR(report.true_shuffle.global.mean_shards, expected(20, 100), 0.1);
  EXPECT_NEAR(report.true_shuffle.rank.neighbours, 49.0 / 19999, 0.001);
  EXPECT_NEAR(report.true_shuffle.global.shared.value(), 99.0 / 19999, 0.0005);
  EXPECT_NEAR(report.true_shuffle.correlation.value(), 0, 0.02);
  EXPECT_EQ(report.batches, 400u);
  EXPECT_EQ(report.all_batches, 400u);
  EXPECT_EQ(report.readers, 2u);
}

TEST(MixingTest, SequentialIsWeakInEveryWay) {
  const MixingReport report = measure(make(kTwentyShards, 100, {.batch = 256, .order = OrderKind::sequential}));
  EXPECT_THAT(report.flaws, ElementsAre(MixingFlaw::few_slices, MixingFlaw::few_shards, MixingFlaw::poor_batch,
                                        MixingFlaw::same_places, MixingFlaw::same_mates, MixingFlaw::neighbours));
  EXPECT_NEAR(report.plan.correlation.value(), 1, 1e-9);
  EXPECT_EQ(report.plan.rank.shared.value(), 1);
  EXPECT_GT(report.plan.rank.neighbours, 0.99);
  std::vector<std::string_view> words;
  for (const MixingFlaw flaw : report.flaws) words.push_back(to_text(flaw));
  EXPECT_THAT(words, ElementsAre("few_slices", "few_shards", "poor_batch", "same_places", "same_mates", "neighbours"));
}

TEST(MixingTest, GlobalIsAsGoodAsATrueShuffle) {
  for (const std::uint32_t world : {1u, 4u}) {
    const MixingReport report =
        measure(make(kTwentyShards, 100, {.world = world, .batch = 64, .order = OrderKind::global, .seed = 3}));
    EXPECT_THAT(report.flaws, IsEmpty());
    for (const auto& [plan, shuffle] : {std::pair(report.plan.rank, report.true_shuffle.rank),
                                        std::pair(report.plan.global, report.true_shuffle.global)}) {
      EXPECT_NEAR(plan.mean_shards, shuffle.mean_shards, 0.15);
      EXPECT_NEAR(plan.mean_slices, shuffle.mean_slices, 0.15);
      EXPECT_NEAR(plan.shared.value(), shuffle.shared.value(), 0.001);
    }
    EXPECT_NEAR(report.plan.correlation.value(), 0, 0.03);
  }
}

TEST(MixingTest, RunAfterRunIsWeakAndNamesWhatIsMissing) {
  const MixingReport report = measure(make(kTwentyShards, 100, {.batch = 256, .open_runs = 1, .pool = 1}));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::few_slices));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::few_shards));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::neighbours));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::same_mates));
}

// By a stride, which in some epochs comes back to the same parts too soon.
TEST(MixingTest, OneRunAsLongAsTheLaneIsGivenFromAllItsParts) {
  const Plan plan = make({50000}, 50000, {.batch = 64});
  double slices = 0;
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) slices += measure(plan, epoch).plan.rank.mean_slices / 50;
  EXPECT_GT(slices, 15);
}

TEST(MixingTest, PartsOfOneShardAreWeakAndRunsOfItAreNot) {
  // Sorted by class it would give each of 4 ranks a quarter of the classes.
  const std::shared_ptr<DatasetShape> shape = shape_of({51200}, 200);
  for (const std::uint32_t batch : {16u, 64u, 256u}) {
    PlanOptions options{.world = 4, .batch = batch};
    const Plan even = Plan::make(shape, options).value();
    options.assign = Assign::runs;
    const Plan runs = Plan::make(shape, options).value();
    for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
      const MixingReport weak = measure(even, epoch);
      EXPECT_THAT(weak.flaws, Contains(MixingFlaw::few_slices));
      EXPECT_LE(weak.plan.rank.mean_slices, 4);
      EXPECT_GT(weak.plan.global.mean_slices, 15) << "the ranks together see all of it";
      EXPECT_THAT(measure(runs, epoch).flaws, IsEmpty()) << "batch " << batch << ", epoch " << epoch;
    }
  }
}

TEST(MixingTest, RanksWithFewShardsAreWeak) {
  const MixingReport report = measure(make(kTwentyShards, 100, {.world = 10, .batch = 32}));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::few_slices));
  EXPECT_THAT(report.flaws, Contains(MixingFlaw::few_shards));
  EXPECT_LE(report.plan.rank.mean_shards, 3);
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
  EXPECT_LE(sample.batches * 40, 40000u);
  EXPECT_GE(sample.batches * 40, 20000u);
  EXPECT_EQ(sample.all_batches, whole.all_batches);
  EXPECT_EQ(sample.readers, 20u);
  EXPECT_NEAR(sample.plan.rank.mean_shards, whole.plan.rank.mean_shards, 0.05 * whole.plan.rank.mean_shards);
  EXPECT_NEAR(sample.plan.rank.mean_slices, whole.plan.rank.mean_slices, 0.5);
  EXPECT_NEAR(sample.plan.global.mean_slices, whole.plan.global.mean_slices, 0.1);
  EXPECT_NEAR(sample.true_shuffle.rank.mean_shards, whole.true_shuffle.rank.mean_shards, 0.3);
  // Half an epoch says nothing of records that another half shares.
  EXPECT_TRUE(whole.plan.correlation);
  EXPECT_FALSE(sample.plan.correlation);
  EXPECT_FALSE(sample.plan.rank.shared);
}

TEST(MixingTest, WhereNoStepFitsSomeReadersStandForAll) {
  const Plan plan = make(std::vector<std::uint64_t>(100, 500), 20, {.world = 100, .batch = 50});
  const MixingReport report = measure_mixing(plan, plan.epoch(0).value(), 1000);
  EXPECT_EQ(report.readers, 20u);
  EXPECT_EQ(report.batches, 20u);
}

TEST(MixingTest, BatchesWithEmptyRowsDoNotCountBesideFullOnes) {
  const Plan plan = make({50, 51}, 4, {.batch = 25, .tail = Tail::pad});
  const MixingReport report = measure(plan);
  EXPECT_EQ(report.all_batches, 5u);
  EXPECT_EQ(report.plan.rank.least_shards, 2u);

  const MixingReport tiny = measure(make({2, 1}, 4, {.batch = 8, .tail = Tail::pad}));
  EXPECT_EQ(tiny.batches, 1u);
  EXPECT_EQ(tiny.plan.rank.least_shards, 2u);
}

TEST(MixingTest, RowsOfAMixKeepTheirSource) {
  auto shape = shape_of(std::vector<std::uint64_t>(11, 1000), 50);
  shape->source_shards = {1, 10};
  const auto plan = Plan::make(shape, {.batch = 40, .mix = {.schedule = {{0, {3, 1}}}}});
  const MixingReport report = measure_mixing(*plan, plan->epoch(0).value());
  // 30 rows are the first shard's, and 10 rows of ten shards hit 6.5 of them on average.
  EXPECT_NEAR(report.true_shuffle.rank.mean_shards, 1 + 10 * (1 - std::pow(0.9, 10)), 0.5);
  EXPECT_NEAR(report.plan.rank.mean_slices, report.true_shuffle.rank.mean_slices, 0.7);
}

TEST(MixingTest, TheRestOfAnEpochIsMeasuredAfterAChangeOfWorld) {
  const auto shape = shape_of(kTwentyShards, 50);
  const Plan before = Plan::make(shape, {.world = 4, .batch = 25}).value();
  const State state = before.state({2, 120}).value();
  const Plan after = Plan::resume(shape, state.options(2, 32), state).value();
  const MixingReport report = measure_mixing(after, after.epoch(2).value());
  EXPECT_EQ(report.all_batches, 2u * ((20000 - 120 * 100) / 64));
  EXPECT_GT(report.plan.rank.mean_shards, 5);
  EXPECT_TRUE(report.plan.correlation);
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
  EXPECT_THAT(sample_batches(after, after.epoch(0).value(), 1024), IsEmpty());
}

TEST(MixingTest, NoMoreRowsAreMeasuredThanAllowed) {
  // A batch would take 8 GB for its ids alone.
  const Plan huge = make({100}, 5, {.batch = 1'000'000'000, .tail = Tail::pad});
  const MixingReport report = measure(huge);
  EXPECT_EQ(report.batches, 0u);
  EXPECT_EQ(report.all_batches, 1u);
  EXPECT_FALSE(report.weak());
  const MixingMap map = map_mixing(huge, huge.epoch(0).value());
  EXPECT_THAT(map.rows, IsEmpty());
  EXPECT_FALSE(map.complete);
  EXPECT_THAT(sample_batches(huge, huge.epoch(0).value(), 4096), IsEmpty());

  const Plan plan = make({4000}, 50, {.batch = 1000});
  const EpochPlan epoch = plan.epoch(0).value();
  EXPECT_EQ(measure_mixing(plan, epoch, 999).batches, 0u);
  EXPECT_EQ(measure_mixing(plan, epoch, 2500).batches, 2u);
  EXPECT_EQ(map_mixing(plan, epoch, {.rank = {}, .max_rows = 1000}).first_step.size(), 1u);
  EXPECT_EQ(sample_batches(plan, epoch, ~std::uint64_t{0}).size(), 4u);
}

TEST(MixingLabelsTest, BatchesAreSampledEvenly) {
  const Plan plan = make(std::vector<std::uint64_t>(50, 2000), 64, {.world = 4, .batch = 100});
  const auto batches = sample_batches(plan, plan.epoch(0).value(), 4096);
  EXPECT_EQ(batches.size(), 40u);
  std::set<std::uint64_t> slices;
  for (const auto& batch : batches) {
    EXPECT_EQ(batch.size(), 100u);
    for (const std::uint64_t id : batch) slices.insert(id * 16 / 100000);
  }
  EXPECT_EQ(slices.size(), 16u);
  // Of large batches some rows, of a small epoch everything.
  const Plan large = make(std::vector<std::uint64_t>(50, 2000), 64, {.batch = 5000});
  const auto rows = sample_batches(large, large.epoch(0).value(), 4096);
  EXPECT_EQ(rows.size(), 16u);
  EXPECT_EQ(rows[0].size(), 256u);
  const Plan tiny = make({30}, 5, {.batch = 8, .tail = Tail::pad});
  std::uint64_t records = 0;
  for (const auto& batch : sample_batches(tiny, tiny.epoch(0).value(), 1024)) records += batch.size();
  EXPECT_EQ(records, 30u);
}

TEST(MixingLabelsTest, FewLabelsAreAFlaw) {
  RandomSource random(3);
  std::vector<std::vector<std::uint64_t>> mixed(16);
  std::vector<std::vector<std::uint64_t>> narrow(16);
  for (std::uint64_t batch = 0; batch < 16; ++batch) {
    for (int row = 0; row < 50; ++row) {
      mixed[batch].push_back(random.below(20));
      narrow[batch].push_back(batch % 4 * 5 + random.below(5));
    }
  }
  MixingReport report;
  add_labels(report, measure_labels(mixed));
  EXPECT_THAT(report.flaws, IsEmpty());
  EXPECT_NEAR(report.labels->mean, 20 * (1 - std::pow(0.95, 50)), 0.7);
  EXPECT_NEAR(report.labels->shuffle_mean, report.labels->mean, 0.7);
  add_labels(report, measure_labels(narrow));
  EXPECT_THAT(report.flaws, ElementsAre(MixingFlaw::few_labels));
  EXPECT_EQ(report.labels->mean, 5);
  EXPECT_EQ(report.labels->least, 5u);
  EXPECT_EQ(report.labels->records, 800u);
  EXPECT_GT(report.labels->shuffle_least, 14u);
  EXPECT_EQ(measure_labels({}).batches, 0u);
}

TEST(MixingLabelsTest, ThreeBatchesAreNotJudged) {
  std::vector<std::vector<std::uint64_t>> batches;
  for (std::uint64_t batch = 0; batch < 4; ++batch) batches.emplace_back(50, batch);
  MixingReport report;
  add_labels(report, measure_labels(std::span(batches).first(3)));
  EXPECT_FALSE(report.labels->judged());
  EXPECT_THAT(report.flaws, IsEmpty());
  add_labels(report, measure_labels(batches));
  EXPECT_TRUE(report.labels->judged());
  EXPECT_THAT(report.flaws, ElementsAre(MixingFlaw::few_labels));
}

TEST(MixingLabelsTest, GoodLabelsSayMoreThanSlices) {
  const auto flaws_with = [](std::uint64_t labels) {
    RandomSource random(4);
    std::vector<std::vector<std::uint64_t>> batches(16);
    for (auto& batch : batches) {
      for (int row = 0; row < 50; ++row) batch.push_back(random.below(labels));
    }
    MixingReport report;
    report.flaws = {MixingFlaw::few_slices, MixingFlaw::poor_batch, MixingFlaw::neighbours};
    add_labels(report, measure_labels(batches));
    return report.flaws;
  };
  EXPECT_THAT(flaws_with(20), ElementsAre(MixingFlaw::neighbours));
  // Too few and too many different ones say nothing.
  EXPECT_EQ(flaws_with(2).size(), 3u);
  EXPECT_EQ(flaws_with(1000).size(), 3u);
}

TEST(MixingTest, OneClassPerShardIsNotWeakAtAnyRunLength) {
  for (const std::uint64_t run_records :
       std::initializer_list<std::uint64_t>{1, 2, 3, 5, 10, 32, 100, 249, 333, 500, 700, 1000, 5000}) {
    EXPECT_THAT(measure(make(kTwentyShards, run_records, {.batch = 256}), 1).flaws, IsEmpty()) << run_records;
  }
}

TEST(MixingMapTest, CountsEveryRowOnceBySliceAndStep) {
  RandomSource random(42);
  int mapped = 0;
  for (int i = 0; i < 200; ++i) {
    const RandomCase what = random_case(random);
    const auto plan = Plan::make(what.dataset, what.options);
    if (!plan || !plan->epoch(what.epoch) || plan->epoch(what.epoch)->rows() > 5000) continue;
    SCOPED_TRACE(what.describe());
    const EpochPlan epoch = plan->epoch(what.epoch).value();
    const std::uint64_t steps = epoch.steps() - epoch.first_step();
    std::vector<std::uint64_t> wanted(kMixingSlices * steps);
    for (std::uint32_t lane = 0; lane < epoch.lanes(); ++lane) {
      const std::vector<std::uint64_t> ids = lane_ids(epoch, lane);
      for (std::size_t output = 0; output < ids.size(); ++output) {
        if (ids[output] == kNoId) continue;
        ++wanted[ids[output] * kMixingSlices / plan->records() * steps + output / epoch.rows_per_lane()];
      }
    }
    const MixingMap map = map_mixing(*plan, epoch, {.rank = {}, .max_step_bins = 10000});
    EXPECT_EQ(map.rows, wanted);
    EXPECT_TRUE(map.complete);
    ++mapped;
  }
  EXPECT_GT(mapped, 60);
}

TEST(MixingMapTest, BinsLoseNothing) {
  const Plan plan = make(std::vector<std::uint64_t>(100, 300), 16, {.world = 2, .batch = 30});
  const EpochPlan epoch = plan.epoch(0).value();
  const MixingMap map = map_mixing(plan, epoch, {.rank = {}, .max_step_bins = 11});
  EXPECT_EQ(map.first_step.size(), 11u);
  EXPECT_EQ(std::accumulate(map.rows.begin(), map.rows.end(), std::uint64_t{0}), epoch.rows());
}

TEST(MixingMapTest, OfOneRankHasItsRowsOnly) {
  const Plan plan = make(std::vector<std::uint64_t>(12, 300), 16, {.world = 8, .batch = 15, .replicate = 2});
  const EpochPlan epoch = plan.epoch(0).value();
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const MixingMap map = map_mixing(plan, epoch, {.rank = rank});
    EXPECT_EQ(std::accumulate(map.rows.begin(), map.rows.end(), std::uint64_t{0}), epoch.share(rank).records);
  }
}

TEST(MixingMapTest, ALargeEpochIsSampledEvenly) {
  const Plan plan = make(std::vector<std::uint64_t>(50, 100000), 64, {.world = 4, .batch = 100});
  const MixingMap map = map_mixing(plan, plan.epoch(0).value(), {.rank = {}, .max_rows = 100000});
  ASSERT_EQ(map.first_step.size(), 250u) << "one batch of four ranks in each bin";
  std::set<std::uint64_t> columns;
  for (std::size_t step = 0; step < map.first_step.size(); ++step) {
    std::uint64_t rows = 0;
    for (std::size_t slice = 0; slice < kMixingSlices; ++slice) rows += map.rows[slice * map.first_step.size() + step];
    columns.insert(rows);
  }
  EXPECT_THAT(columns, ElementsAre(400u));
  EXPECT_FALSE(map.complete);
}

}  // namespace
}  // namespace dovetail::test
