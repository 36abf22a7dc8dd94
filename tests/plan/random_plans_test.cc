// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "tests/plan/naive_order.h"
#include "tests/plan/random_source.h"

namespace dovetail::testing {
namespace {

struct Case {
  std::shared_ptr<DatasetShape> dataset = std::make_shared<DatasetShape>();
  PlanOptions options;
  std::uint32_t epoch = 0;

  std::string describe() const {
    std::ostringstream text;
    text << "shards ";
    for (const ShardShape& shard : dataset->shards) text << shard.records << ':' << shard.run_records << ' ';
    text << "world " << options.world << " batch " << options.batch << " replicate " << options.replicate << " lanes "
         << options.lanes << " order " << static_cast<int>(options.order) << " assign "
         << static_cast<int>(options.assign) << " tail " << static_cast<int>(options.tail) << " open_runs "
         << options.open_runs << " pool " << options.pool << " seed " << options.seed << " epoch " << epoch;
    return text.str();
  }
};

Case random_case(RandomSource& random) {
  Case made;
  const std::uint32_t largest = random.one_of<std::uint32_t>({1, 6, 20, 60});
  const std::uint32_t usual_run = random.one_of<std::uint32_t>({1, 2, 3, 5, 7, 16, 100});
  for (std::uint32_t shards = random.between(1, random.one_of<std::uint32_t>({1, 4, 9, 30})); shards > 0; --shards) {
    ShardShape shard;
    shard.records = random.chance(15) ? random.below(2) : random.below(largest + 1);
    shard.run_records = random.chance(80) ? usual_run : random.between(1, 20);
    shard.raw_bytes = shard.records * random.below(100);
    made.dataset->shards.push_back(shard);
  }
  const std::uint32_t readers = random.between(1, random.one_of<std::uint32_t>({1, 3, 6}));
  const std::uint32_t lanes_each = random.one_of<std::uint32_t>({1, 1, 2, 3});
  PlanOptions& options = made.options;
  options.replicate = random.one_of<std::uint32_t>({1, 1, 1, 2, 3});
  options.world = readers * options.replicate;
  options.lanes = lanes_each == 1 && random.chance(50) ? 0 : readers * lanes_each;
  options.batch = lanes_each * random.between(1, random.one_of<std::uint32_t>({1, 4, 40}));
  options.order = random.chance(80) ? OrderKind::shuffle : OrderKind::sequential;
  options.assign = random.chance(65) ? Assign::even : Assign::files;
  options.tail = random.one_of({Tail::drop, Tail::pad, Tail::wrap});
  options.open_runs = random.one_of<std::uint32_t>({1, 2, 3, 5, 32});
  options.pool = random.one_of<std::uint32_t>({1, 2, 3, 8, 30, 256});
  options.seed = random.word();
  made.epoch = static_cast<std::uint32_t>(random.word());
  return made;
}

/// What a whole lane must give: output `i` and its status.
struct Expected {
  const std::vector<std::uint64_t>& ids;
  Tail tail;

  std::uint64_t id(std::uint64_t output) const {
    if (output < ids.size()) return ids[output];
    return tail == Tail::wrap && !ids.empty() ? ids[output % ids.size()] : kNoId;
  }
  RowStatus status(std::uint64_t output) const {
    if (output < ids.size()) return RowStatus::first;
    return id(output) == kNoId ? RowStatus::empty : RowStatus::repeated;
  }
};

void expect_steps_equal(const LaneOrder& lane, const Expected& expected, std::uint64_t outputs, RandomSource& random) {
  LaneCursor cursor = lane.cursor();
  std::vector<Pick> picks;
  while (cursor.position() < outputs) {
    const std::uint64_t from = cursor.position();
    picks.resize(1 + random.below(2 * outputs));
    cursor.next(picks);
    ASSERT_EQ(cursor.position(), from + picks.size());
    for (std::uint64_t i = 0; i < picks.size(); ++i) {
      ASSERT_EQ(lane.id(picks[i]), expected.id(from + i)) << "output " << from + i;
      ASSERT_EQ(lane.status(picks[i]), expected.status(from + i)) << "output " << from + i;
    }
  }
}

/// Every record that has not left the lane in this pass, as a reader that starts here would gather them.
std::vector<std::uint64_t> in_flight(const LaneOrder& lane, const LaneCursor& cursor, Tail tail) {
  std::vector<std::uint64_t> ids;
  for (const Pick& pick : cursor.pooled()) ids.push_back(lane.id(pick));
  const auto add_rest = [&](std::uint64_t position, std::uint64_t record) {
    const Run run = lane.run(position);
    for (; record < run.count; ++record) ids.push_back(run.first_id + record);
  };
  for (const LaneCursor::OpenRun& open : cursor.open_runs()) add_rest(open.run, open.next_record);
  const std::uint64_t pass = tail == Tail::wrap ? cursor.position() / lane.records() : 0;
  for (std::uint64_t run = cursor.next_run(); run < (pass + 1) * lane.runs(); ++run) add_rest(run, 0);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void expect_seeks_equal(const LaneOrder& lane, const Expected& expected, std::uint64_t output) {
  const Pick pick = lane.at(output);
  ASSERT_EQ(lane.id(pick), expected.id(output)) << "at " << output;
  ASSERT_EQ(lane.status(pick), expected.status(output)) << "at " << output;

  LaneCursor sought = lane.cursor(output);
  LaneCursor walked = lane.cursor();
  std::vector<Pick> skipped(output);
  walked.next(skipped);
  ASSERT_EQ(sought.position(), output);
  ASSERT_EQ(sought.pooled(), walked.pooled()) << "at " << output;
  ASSERT_EQ(sought.next_run(), walked.next_run()) << "at " << output;

  const std::uint64_t size = expected.ids.size();
  std::vector<std::uint64_t> rest;
  if (size != 0 && (expected.tail == Tail::wrap || output < size)) {
    rest.assign(expected.ids.begin() + static_cast<std::ptrdiff_t>(output % size), expected.ids.end());
    std::sort(rest.begin(), rest.end());
  }
  ASSERT_EQ(in_flight(lane, sought, expected.tail), rest) << "at " << output;
  ASSERT_EQ(in_flight(lane, walked, expected.tail), rest) << "at " << output;
  for (std::uint64_t i = output; i < output + size + 3; ++i) {
    Pick next;
    sought.next({&next, 1});
    ASSERT_EQ(lane.id(next), expected.id(i)) << "output " << i << " after a seek to " << output;
  }
}

void expect_runs_cover_lane(const LaneOrder& lane, const Expected& expected) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t position = 0; position < lane.runs(); ++position) {
    const Run run = lane.run(position);
    ASSERT_GE(run.count, 1u);
    for (std::uint64_t i = 0; i < run.count; ++i) ids.push_back(run.first_id + i);
  }
  std::vector<std::uint64_t> all = expected.ids;
  std::sort(all.begin(), all.end());
  std::sort(ids.begin(), ids.end());
  ASSERT_EQ(ids, all);
}

void expect_counts(const Case& made, const Plan& plan, const EpochPlan& epoch, const NaiveLanes& lanes) {
  std::map<std::uint64_t, std::uint64_t> seen;
  Hash128 digest;
  const std::uint64_t outputs = epoch.steps() * epoch.rows_per_lane();
  for (const auto& ids : lanes) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(outputs, ids.size()); ++i) {
      ++seen[ids[i]];
      digest += record_digest(ids[i]);
    }
  }
  for (const auto& [id, times] : seen) ASSERT_EQ(times, 1u) << "record " << id;
  ASSERT_EQ(epoch.rows(), outputs * plan.lanes());
  ASSERT_EQ(epoch.delivered(), seen.size());
  ASSERT_EQ(epoch.dropped(), plan.records() - seen.size());
  ASSERT_EQ(plan.records() - epoch.dropped() + epoch.padded(), epoch.rows());
  ASSERT_EQ(made.options.tail == Tail::drop ? epoch.padded() : epoch.dropped(), 0u);
  ASSERT_EQ(epoch.digest(), digest);

  std::uint64_t shared = 0;
  for (std::uint32_t rank = 0; rank < made.options.world; ++rank) {
    const RankShare share = epoch.share(rank);
    shared += share.records;
    ASSERT_EQ(epoch.first_lane(rank), rank / made.options.replicate * epoch.lanes_per_rank());
    ASSERT_LE(share.shards, made.dataset->shards.size());
  }
  ASSERT_EQ(shared, epoch.delivered() * made.options.replicate);
}

void expect_case(const Case& made, RandomSource& random) {
  const auto plan = Plan::make(made.dataset, made.options);
  std::uint64_t records = 0;
  for (const ShardShape& shard : made.dataset->shards) records += shard.records;
  if (records == 0) {
    ASSERT_TRUE(plan.has_error());
    ASSERT_TRUE(plan.error().is(Errc::empty_input)) << plan.error().to_string();
    return;
  }
  const NaiveLanes lanes = naive_lanes(*made.dataset, made.options, made.epoch);
  const auto steps = naive_steps(lanes, made.options);
  if (plan.has_error()) {
    ASSERT_TRUE(plan.error().is(Errc::no_steps)) << plan.error().to_string();
    ASSERT_FALSE(steps.has_value()) << plan.error().to_string();
    return;
  }
  const auto epoch = plan->epoch(made.epoch);
  if (!steps) {
    ASSERT_TRUE(epoch.has_error() && epoch.error().is(Errc::no_steps));
    ASSERT_TRUE(plan->steps(made.epoch).has_error());
    return;
  }
  ASSERT_TRUE(epoch.has_value()) << epoch.error().to_string();
  ASSERT_EQ(epoch->steps(), *steps);
  ASSERT_EQ(plan->steps(made.epoch).value(), *steps);
  ASSERT_NO_FATAL_FAILURE(expect_counts(made, *plan, *epoch, lanes));
  const std::uint64_t outputs = *steps * epoch->rows_per_lane();
  for (std::uint32_t number = 0; number < lanes.size(); ++number) {
    const LaneOrder lane = epoch->lane(number);
    const Expected expected{lanes[number], made.options.tail};
    ASSERT_EQ(lane.records(), expected.ids.size());
    ASSERT_NO_FATAL_FAILURE(expect_steps_equal(lane, expected, outputs, random));
    if (number != random.below(lanes.size())) continue;
    ASSERT_NO_FATAL_FAILURE(expect_runs_cover_lane(lane, expected));
    for (int i = 0; i < 3; ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_seeks_equal(lane, expected, random.below(outputs + 1)));
    }
  }
}

TEST(RandomPlansTest, EveryPlanGivesWhatTheDefinitionSays) {
  constexpr std::uint64_t kCases = 20000;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    RandomSource random(seed);
    const Case made = random_case(random);
    SCOPED_TRACE("case " + std::to_string(seed) + ": " + made.describe());
    expect_case(made, random);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace dovetail::testing
