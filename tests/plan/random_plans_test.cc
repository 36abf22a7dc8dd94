// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tests/plan/naive_order.h"
#include "tests/plan/random_case.h"
#include "tests/plan/random_source.h"
#include "tests/support/cases.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

/// What an epoch was planned to give, phase by phase, from explicit lists.
struct Expected {
  NaiveLanes lanes;  // of the present phase
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;  // of the present phase
  std::uint64_t records = 0;
  std::uint64_t past_rows = 0;
  std::vector<std::uint64_t> past_ids;  // first deliveries
};

void expect_walk(const LaneOrder& lane, const Expected& expected, std::uint64_t number, Tail tail, std::uint64_t rows,
                 RandomSource& random) {
  const std::uint64_t outputs = expected.steps * rows;
  LaneCursor cursor = lane.cursor();
  std::vector<Pick> picks;
  while (cursor.position() < outputs) {
    const std::uint64_t from = cursor.position();
    picks.resize(1 + random.below(2 * outputs));
    cursor.next(picks);
    ASSERT_EQ(cursor.position(), from + picks.size());
    for (std::uint64_t i = 0; i < picks.size(); ++i) {
      const PlannedRecord wanted = naive_output(expected.lanes, number, from + i, tail);
      ASSERT_EQ(cursor.record(picks[i]).id, wanted.id) << "output " << from + i;
      ASSERT_EQ(cursor.record(picks[i]).status, wanted.status) << "output " << from + i;
    }
  }
}

/// From any place a lane gives the same.
void expect_seek(const LaneOrder& lane, const Expected& expected, std::uint64_t number, Tail tail, std::uint64_t rows,
                 RandomSource& random) {
  const std::uint64_t outputs = expected.steps * rows;
  const std::uint64_t begin = random.below(outputs + 1);
  ASSERT_EQ(lane.at(begin).id, naive_output(expected.lanes, number, begin, tail).id) << "at " << begin;
  ASSERT_EQ(lane.at(begin).status, naive_output(expected.lanes, number, begin, tail).status) << "at " << begin;

  LaneCursor cursor = lane.cursor(begin);
  ASSERT_EQ(cursor.position(), begin);
  std::vector<Pick> picks;
  while (cursor.position() < outputs) {
    const std::uint64_t from = cursor.position();
    picks.resize(1 + random.below(std::min<std::uint64_t>(outputs - from, 50)));
    cursor.next(picks);
    for (std::uint64_t i = 0; i < picks.size(); ++i) {
      ASSERT_EQ(cursor.record(picks[i]).id, naive_output(expected.lanes, number, from + i, tail).id)
          << "output " << from + i << " after a seek to " << begin;
    }
  }
}

void expect_counts(const EpochPlan& epoch, const PlanOptions& options, const Expected& expected) {
  std::vector<std::uint64_t> ids = expected.past_ids;
  const std::uint64_t outputs = expected.steps * rows_per_lane_of(options);
  for (const auto& lane : expected.lanes) {
    ids.insert(ids.end(), lane.begin(), lane.begin() + static_cast<std::ptrdiff_t>(std::min(outputs, lane.size())));
  }
  const std::uint64_t rows = expected.past_rows + outputs * expected.lanes.size();
  ASSERT_EQ(epoch.steps(), expected.first_step + expected.steps);
  ASSERT_EQ(epoch.first_step(), expected.first_step);
  ASSERT_EQ(epoch.records(), expected.records);
  ASSERT_EQ(epoch.rows(), rows);
  ASSERT_EQ(epoch.delivered(), ids.size());
  ASSERT_EQ(epoch.records() - epoch.dropped() + epoch.padded(), rows);
  ASSERT_EQ(options.tail == Tail::drop ? epoch.padded() : epoch.dropped(), 0u);
  Hash128 digest;
  for (const std::uint64_t id : ids) digest += record_digest(id);
  ASSERT_EQ(epoch.digest(), digest);
  if (!options.mix.enabled()) {
    std::sort(ids.begin(), ids.end());
    ASSERT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << "a record came twice";
  }

  std::uint64_t shared = 0;
  for (std::uint32_t rank = 0; rank < options.world; ++rank) {
    const RankShare share = epoch.share(rank);
    shared += share.records;
    ASSERT_EQ(epoch.first_lane(rank), rank / options.replicate * epoch.lanes_per_rank());
  }
  ASSERT_EQ(shared, (ids.size() - expected.past_ids.size()) * options.replicate);
}

void expect_epoch(const EpochPlan& epoch, const PlanOptions& options, const Expected& expected, RandomSource& random) {
  ASSERT_NO_FATAL_FAILURE(expect_counts(epoch, options, expected));
  ASSERT_EQ(epoch.lanes(), expected.lanes.size());
  const std::uint64_t rows = epoch.rows_per_lane();
  for (std::uint32_t number = 0; number < expected.lanes.size(); ++number) {
    const LaneOrder lane = epoch.lane(number);
    ASSERT_EQ(lane.records(), expected.lanes[number].size());
    ASSERT_NO_FATAL_FAILURE(expect_walk(lane, expected, number, options.tail, rows, random));
    if (number != random.below(expected.lanes.size())) continue;
    for (int i = 0; i < 2; ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_seek(lane, expected, number, options.tail, rows, random));
    }
  }
}

/// Takes some steps, and goes on with another world: `plan`, `options` and `expected` become what
/// follows.
void expect_change(Plan& plan, PlanOptions& options, std::uint32_t epoch, Expected& expected, RandomSource& random) {
  const std::uint64_t taken = random.below(expected.steps + 1);
  const auto state = plan.state({epoch, expected.first_step + taken});
  ASSERT_TRUE(state.has_value()) << state.error().to_string();
  const auto restored = State::from_text(state->to_text());
  ASSERT_TRUE(restored.has_value()) << restored.error().to_string();
  ASSERT_EQ(*restored, *state);
  ASSERT_LE(state->to_text().size(), State::kMaxBytes);

  PlanOptions next = options;
  change_world(next, random);
  const State::Phase present = state->phases.back();
  const std::uint64_t readers = next.world / next.replicate;
  const bool fits = (next.lanes == 0 || next.lanes == present.lanes) && present.lanes % readers == 0 &&
                    readers * next.batch == std::uint64_t{present.lanes} * present.rows_per_lane;
  const auto resumed = Plan::resume(std::make_shared<const DatasetShape>(plan.dataset()), next, *restored);
  if (!resumed) {
    // The epochs after this one may not work with the new world.
    ASSERT_TRUE(resumed.error().is(Errc::no_steps) || next.mix.enabled()) << resumed.error().to_string();
    return;
  }
  ASSERT_EQ(resumed->start(), (Position{epoch, expected.first_step + taken}));
  const std::uint64_t rows = rows_per_lane_of(options);
  if (fits) {
    next.lanes = present.lanes;
  } else if (taken != 0) {
    for (const auto& lane : expected.lanes) {
      expected.past_ids.insert(expected.past_ids.end(), lane.begin(),
                               lane.begin() + static_cast<std::ptrdiff_t>(std::min(taken * rows, lane.size())));
    }
    expected.past_rows += taken * rows * expected.lanes.size();
    expected.first_step += taken;
    NaivePhase phase = naive_change(expected.lanes, taken * rows, taken == expected.steps, next);
    expected.lanes = std::move(phase.lanes);
    expected.steps = phase.steps;
  } else if (state->phases.size() > 1) {
    NaivePhase phase = naive_change(expected.lanes, 0, false, next);
    expected.lanes = std::move(phase.lanes);
    expected.steps = phase.steps;
  } else {
    auto lanes = naive_lanes(plan.dataset(), next, epoch);
    if (!lanes) return;
    const auto steps = naive_steps(plan.dataset(), *lanes, next);
    if (!steps) return;
    expected.lanes = std::move(*lanes);
    expected.steps = *steps;
    expected.records = 0;
    for (const auto& lane : expected.lanes) expected.records += lane.size();
  }
  ASSERT_EQ(resumed->changes_world(), !fits && resumed->epoch(epoch)->first_step() != 0);
  plan = *resumed;
  options = next;
  const auto laid_out = plan.epoch(epoch);
  ASSERT_TRUE(laid_out.has_value()) << laid_out.error().to_string();
  ASSERT_NO_FATAL_FAILURE(expect_epoch(*laid_out, options, expected, random));
}

void expect_case(const RandomCase& made, RandomSource& random) {
  const auto plan = Plan::make(made.dataset, made.options);
  std::uint64_t records = 0;
  for (const ShardShape& shard : made.dataset->shards) records += shard.records;
  if (records == 0) {
    ASSERT_THAT(plan, Fails(Errc::empty_input));
    return;
  }
  const auto lanes = naive_lanes(*made.dataset, made.options, made.epoch);
  if (!lanes) {
    ASSERT_TRUE(plan.has_error() || plan->epoch(made.epoch)->records() > kNaiveRows);
    return;
  }
  const auto steps = naive_steps(*made.dataset, *lanes, made.options);
  if (plan.has_error()) {
    ASSERT_THAT(plan, Fails(Errc::no_steps));
    ASSERT_FALSE(steps.has_value()) << plan.error().to_string();
    return;
  }
  const auto epoch = plan->epoch(made.epoch);
  ASSERT_TRUE(steps.has_value());
  ASSERT_TRUE(epoch.has_value()) << epoch.error().to_string();
  ASSERT_EQ(plan->steps(made.epoch).value(), *steps);
  Expected expected;
  expected.lanes = *lanes;
  expected.steps = *steps;
  for (const auto& lane : expected.lanes) expected.records += lane.size();
  ASSERT_NO_FATAL_FAILURE(expect_epoch(*epoch, made.options, expected, random));

  Plan present = *plan;
  PlanOptions options = made.options;
  for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
    ASSERT_NO_FATAL_FAILURE(expect_change(present, options, made.epoch, expected, random));
  }
}

TEST(RandomPlansTest, EveryPlanGivesWhatTheDefinitionSays) {
  const std::uint64_t cases = Cases{.sanitized = 3000, .some = 20'000, .all = 100'000}.count();
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    RandomSource random(seed);
    const RandomCase made = random_case(random);
    SCOPED_TRACE("case " + std::to_string(seed) + ": " + made.describe());
    expect_case(made, random);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace dovetail::test
