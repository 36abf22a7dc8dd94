// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/plan.h>

#include "reader/plan/mix_schedule.h"
#include "tests/plan/random_source.h"
#include "tests/plan/rows.h"
#include "tests/plan/shapes.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

using detail::MixTable;

/// Sources of one shard each.
std::shared_ptr<DatasetShape> sources(const std::vector<std::uint64_t>& records) {
  auto shape = shape_of(records, 8);
  shape->source_shards.assign(records.size(), 1);
  return shape;
}

PlanOptions mixed(std::vector<std::uint32_t> weights, std::uint32_t world = 1, std::uint32_t batch = 4) {
  PlanOptions options{.world = world, .batch = batch, .pool = 32, .seed = 9};
  options.mix.schedule = {{0, std::move(weights)}};
  return options;
}

std::size_t source_of(const DatasetShape& shape, std::uint64_t id) {
  std::size_t source = 0;
  for (; id >= shape.shards[source].records; ++source) id -= shape.shards[source].records;
  return source;
}

TEST(MixTableTest, EverySourceIsWithinOneRowOfItsShareAtEveryRow) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomSource random(seed);
    std::vector<std::uint32_t> weights(1 + random.below(random.one_of<std::uint32_t>({3, 12, 300})));
    for (std::uint32_t& weight : weights) weight = random.between(0, random.one_of<std::uint32_t>({1, 10, 60}));
    weights[random.below(weights.size())] += 1;
    const auto scaled = MixTable::normalise(weights);
    ASSERT_TRUE(scaled.has_value()) << scaled.error().to_string();
    const MixTable table(*scaled);
    std::vector<std::uint64_t> rows(weights.size());
    for (std::uint64_t row = 0; row < MixTable::kPeriod; ++row) {
      ++rows[table.source_at(row)];
      const std::uint64_t source = random.below(weights.size());
      const double share = static_cast<double>((row + 1) * table.weight(static_cast<std::uint32_t>(source))) / 65536;
      ASSERT_LT(std::abs(static_cast<double>(rows[source]) - share), 1.0) << "seed " << seed << " row " << row;
      ASSERT_EQ(table.count(static_cast<std::uint32_t>(source), row + 1), rows[source]);
    }
    for (std::uint32_t source = 0; source < weights.size(); ++source) ASSERT_EQ(rows[source], table.weight(source));
  }
}

TEST(MixTableTest, WeightsAreRoundedToAFullPeriod) {
  EXPECT_EQ(MixTable::normalise(std::vector<std::uint32_t>{1, 1, 1}).value(),
            (std::vector<std::uint32_t>{21846, 21845, 21845}));
  EXPECT_EQ(MixTable::normalise(std::vector<std::uint32_t>{0, 7}).value(), (std::vector<std::uint32_t>{0, 65536}));
  EXPECT_TRUE(MixTable::normalise(std::vector<std::uint32_t>{0, 0}).has_error());
  EXPECT_TRUE(MixTable::normalise(std::vector<std::uint32_t>{1, 4000000}).has_error());
}

TEST(MixTest, EveryLaneKeepsItsSharesAndEveryPassGivesEachRecordOnce) {
  const auto shape = sources({1000, 300, 120});
  PlanOptions options = mixed({5, 3, 2}, 4, 8);
  options.mix.stop = MixStop::all;
  const EpochPlan epoch = Plan::make(shape, options)->epoch(1).value();
  std::map<std::uint64_t, int> times;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    std::vector<std::uint64_t> rows(3);
    for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
      for (const PlannedRecord& row : rows_of(epoch, rank, step)) {
        ASSERT_EQ(row.status, RowStatus::first);
        ++rows[source_of(*shape, row.id)];
        ++times[row.id];
      }
      const double taken = static_cast<double>(8 * (step + 1));
      ASSERT_LT(std::abs(static_cast<double>(rows[0]) - taken * 0.5), 1.01);
      ASSERT_LT(std::abs(static_cast<double>(rows[1]) - taken * 0.3), 1.01);
      ASSERT_LT(std::abs(static_cast<double>(rows[2]) - taken * 0.2), 1.01);
    }
  }
  // A source that ended several times gives no record two times more often than another.
  for (std::size_t source = 0; source < 3; ++source) {
    int fewest = 1 << 30;
    int most = 0;
    for (const auto& [id, count] : times) {
      if (source_of(*shape, id) != source) continue;
      fewest = std::min(fewest, count);
      most = std::max(most, count);
    }
    EXPECT_LE(most - fewest, 1) << "source " << source;
  }
}

TEST(MixTest, StopRulesEndWhereTheySay) {
  const auto shape = sources({900, 100});
  PlanOptions options = mixed({1, 1}, 1, 10);
  EXPECT_EQ(Plan::make(shape, options)->steps(0).value(), 20u) << "the shorter source ends after 200 rows";
  options.mix.stop = MixStop::all;
  EXPECT_EQ(Plan::make(shape, options)->epoch(0)->records(), 1799u);
  options.mix.stop = MixStop::steps;
  options.mix.steps = 777;
  EXPECT_EQ(Plan::make(shape, options)->steps(3).value(), 777u);
}

TEST(MixTest, PassesAndEpochsAreShuffledAnew) {
  const auto shape = sources({64, 64});
  PlanOptions options = mixed({1, 1}, 1, 128);
  options.mix.stop = MixStop::steps;
  options.mix.steps = 2;
  const Plan plan = Plan::make(shape, options).value();
  std::map<std::size_t, std::vector<std::uint64_t>> orders;  // of each pass, which holds all 64 records
  std::size_t pass = 0;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint64_t step = 0; step < 2; ++step, ++pass) {
      for (const PlannedRecord& row : rows_of(plan.epoch(epoch).value(), 0, step)) {
        const std::size_t source = source_of(*shape, row.id);
        orders[2 * pass + source].push_back(row.id - 64 * source);
      }
    }
  }
  ASSERT_EQ(orders.size(), 8u);
  for (const auto& [one, ids] : orders) {
    ASSERT_EQ(ids.size(), 64u);
    for (const auto& [other, others] : orders) EXPECT_TRUE(one == other || ids != others) << one << ' ' << other;
  }
}

TEST(MixTest, AChangeOfWeightsComesAtItsStepAndKeepsTheOrderOfEachSource) {
  const auto shape = sources({400, 400});
  PlanOptions options = mixed({1, 1}, 2, 16);
  options.mix.stop = MixStop::steps;
  options.mix.steps = 12;
  const EpochPlan steady = Plan::make(shape, options)->epoch(0).value();
  options.mix.schedule.push_back({5, {1, 3}});
  options.mix.schedule.push_back({8, {0, 1}});
  const EpochPlan changing = Plan::make(shape, options)->epoch(0).value();
  std::vector<std::uint64_t> steady_ids;
  std::vector<std::uint64_t> changing_ids;
  for (std::uint64_t step = 0; step < 12; ++step) {
    std::size_t second = 0;
    for (const PlannedRecord& row : rows_of(changing, 1, step)) {
      if (row.id < 400) continue;
      ++second;
      changing_ids.push_back(row.id);
    }
    EXPECT_EQ(second, step < 5 ? 8u : step < 8 ? 12u : 16u) << "step " << step;
    for (const PlannedRecord& row : rows_of(steady, 1, step)) {
      if (row.id >= 400) steady_ids.push_back(row.id);
    }
  }
  EXPECT_TRUE(std::equal(steady_ids.begin(), steady_ids.end(), changing_ids.begin()));
}

TEST(MixTest, AnyWorldGivesTheSameGlobalBatches) {
  const auto shape = sources({500, 700, 90});
  PlanOptions options = mixed({2, 3, 1}, 1, 48);
  options.lanes = 6;
  const EpochPlan one = Plan::make(shape, options)->epoch(2).value();
  for (const std::uint32_t world : {2u, 3u, 6u}) {
    options.world = world;
    options.batch = 48 / world;
    const EpochPlan other = Plan::make(shape, options)->epoch(2).value();
    ASSERT_EQ(other.steps(), one.steps());
    for (std::uint64_t step = 0; step < one.steps(); ++step) {
      std::vector<PlannedRecord> rows;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        for (const PlannedRecord& row : rows_of(other, rank, step)) rows.push_back(row);
      }
      ASSERT_EQ(rows, rows_of(one, 0, step)) << "world " << world << " step " << step;
    }
  }
}

std::string refusal(const PlanOptions& options, Errc code = Errc::invalid_option,
                    const std::vector<std::uint64_t>& records = {100, 100}) {
  const auto plan = Plan::make(sources(records), options);
  EXPECT_THAT(plan, Fails(code));
  return plan.has_error() ? plan.error().to_string() : "";
}

TEST(MixTest, RefusesWhatMakesNoMixAndSaysWhatToChange) {
  EXPECT_THAT(refusal(mixed({0, 0})), HasSubstr("the weights sum to 0"));
  EXPECT_THAT(refusal(mixed({1})), HasSubstr("1 weights for 2 sources"));
  EXPECT_THAT(refusal(mixed({1, 4000000})), HasSubstr("has no effect"));
  PlanOptions options = mixed({1, 1});
  options.mix.schedule[0].from_step = 1;
  EXPECT_THAT(refusal(options), HasSubstr("the first is 0"));
  options = mixed({1, 1});
  options.mix.schedule.push_back({0, {1, 2}});
  EXPECT_THAT(refusal(options), HasSubstr("entry 1 of the mix: from_step"));
  options = mixed({1, 1});
  options.mix.stop = MixStop::steps;
  EXPECT_THAT(refusal(options), HasSubstr("needs at least 1"));
  options.mix.stop = MixStop::all;
  options.mix.steps = 3;
  EXPECT_THAT(refusal(options), HasSubstr("mix.steps needs mix.stop = steps"));
  options = mixed({1, 1});
  options.mix.stop = MixStop::all;
  options.mix.schedule.push_back({2, {0, 1}});
  EXPECT_THAT(refusal(options), HasSubstr("is never reached"));
  options = mixed({1, 1});
  options.assign = Assign::files;
  EXPECT_THAT(refusal(options), HasSubstr("cut even"));
  EXPECT_THAT(refusal(mixed({1, 1}, 4, 1), Errc::no_steps, {100, 3}), HasSubstr("source 1 of the mix has 3 records"));
  EXPECT_TRUE(Plan::make(sources({100, 3}), mixed({1, 0}, 4, 1)).has_value()) << "a source without weight is left out";
}

}  // namespace
}  // namespace dovetail::test
