// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/step_rows.h"

#include <filesystem>

#include "tests/support/fails.h"
#include "tests/tools/plan_shapes.h"
#include "tools/plan/plan_file.h"

namespace dovetail::tools {
namespace {

std::vector<std::uint64_t> ids(const StepRows& rows) {
  std::vector<std::uint64_t> found;
  for (const StepRow& row : rows.rows) found.push_back(row.record.id);
  return found;
}

PlanFlags flags_of(std::uint32_t world, std::uint32_t batch) {
  PlanFlags flags;
  flags.world = world;
  flags.batch = batch;
  return flags;
}

class StepRowsTest : public ::testing::Test {
 protected:
  ~StepRowsTest() override {
    std::filesystem::remove(state_path_);
    std::filesystem::remove(state_path_ + ".first");
  }

  Result<StepRows> rows(const PlanFlags& flags, std::uint64_t step, std::optional<std::uint32_t> rank = {},
                        std::optional<std::uint32_t> epoch = {}) const {
    return rows_of_step(flags, dataset_, {step, epoch, rank});
  }
  /// The state of epoch 1 after the world changed from 4 to 3 at step 5, and three more steps.
  void save_changed_state() {
    const Plan four = Plan::make(dataset_, {.world = 4, .batch = 6}).value();
    const State first = four.state({1, 5}).value();
    const Plan three = Plan::resume(dataset_, first.options(3, 10), first).value();
    ASSERT_TRUE(write_state(state_path_, three.state({1, 8}).value()));
    ASSERT_TRUE(write_state(state_path_ + ".first", first));
  }

  std::shared_ptr<const DatasetShape> dataset_ = equal_shards(10, 40);
  std::string state_path_ = test_file("state");
};

TEST_F(StepRowsTest, AreTheRowsOfTheRanksLaneAfterLane) {
  PlanFlags flags = flags_of(4, 6);
  flags.lanes = 8;
  const Plan plan = Plan::make(dataset_, {.world = 4, .batch = 6, .lanes = 8}).value();
  const EpochPlan epoch = plan.epoch(2).value();
  for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
    std::vector<std::uint64_t> all;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const StepRows found = rows(flags, step, rank, 2).value();
      ASSERT_EQ(found.rows.size(), 6u);
      for (std::uint64_t row = 0; row < 6; ++row) {
        EXPECT_EQ(found.rows[row].row, row);
        EXPECT_EQ(found.rows[row].rank, rank);
        EXPECT_EQ(found.rows[row].record,
                  epoch.lane(2 * rank + static_cast<std::uint32_t>(row / 3)).at(3 * step + row % 3));
        all.push_back(found.rows[row].record.id);
      }
    }
    EXPECT_EQ(ids(rows(flags, step, {}, 2).value()), all);
  }
}

TEST_F(StepRowsTest, ReplicasAreListedOnce) {
  PlanFlags flags = flags_of(4, 6);
  flags.replicate = 2;
  const StepRows all = rows(flags, 3).value();
  ASSERT_EQ(all.rows.size(), 12u);
  EXPECT_EQ(all.rows[0].rank, 0u);
  EXPECT_EQ(all.rows[6].rank, 2u);
  EXPECT_EQ(ids(rows(flags, 3, 2).value()), ids(rows(flags, 3, 3).value()));
}

TEST_F(StepRowsTest, StepsBeforeAStateKeepTheirLanes) {
  save_changed_state();
  PlanFlags without_world;
  without_world.state_path = state_path_;
  for (std::uint64_t step = 0; step < 8; ++step) {
    PlanFlags then = step < 5 ? flags_of(4, 6) : flags_of(3, 10);
    if (step >= 5) then.state_path = state_path_ + ".first";
    const StepRows wanted = rows(then, step, {}, 1).value();
    const StepRows found = rows(without_world, step).value();
    EXPECT_EQ(ids(found), ids(wanted)) << "step " << step;
    EXPECT_EQ(found.position, (Position{1, step}));
    EXPECT_FALSE(found.rows[0].rank);
    EXPECT_EQ(found.rows.back().row, found.rows.size() - 1);
  }
}

TEST_F(StepRowsTest, StepsAfterAStateHaveTheGivenWorld) {
  save_changed_state();
  PlanFlags flags = flags_of(2, 7);
  flags.state_path = state_path_;
  const StepRows found = rows(flags, 8, 1).value();
  const State state = read_state(state_path_).value();
  const Plan plan = Plan::resume(dataset_, state.options(2, 7), state).value();
  const LaneOrder lane = plan.epoch(1)->lane(1);
  for (std::uint64_t row = 0; row < 7; ++row) EXPECT_EQ(found.rows[row].record, lane.at(row));
  EXPECT_EQ(found.plan_id, plan.plan_id());
  EXPECT_EQ(rows(flags, 0, 0, 2)->position, (Position{2, 0}));
}

TEST_F(StepRowsTest, RanksOfAnEarlierWorldAreKnownIfTheyAreGiven) {
  save_changed_state();
  PlanFlags flags = flags_of(4, 6);
  flags.state_path = state_path_;
  EXPECT_EQ(ids(rows(flags, 2, 3).value()), ids(rows(flags_of(4, 6), 2, 3, 1).value()));
  // Two ranks with twice the rows had the same lanes.
  flags = flags_of(2, 12);
  flags.state_path = state_path_;
  EXPECT_EQ(rows(flags, 2, 1)->rows.size(), 12u);
  flags = flags_of(2, 7);
  flags.state_path = state_path_;
  EXPECT_THAT(rows(flags, 2, 1), test::Fails(Errc::invalid_option));
  EXPECT_TRUE(rows(flags, 2));
}

TEST_F(StepRowsTest, WhatThereIsNotIsRefused) {
  const auto step = rows(flags_of(4, 6), 16);
  ASSERT_THAT(step, test::Fails().saying("--step = 16"));
  const auto rank = rows(flags_of(4, 6), 0, 4);
  ASSERT_THAT(rank, test::Fails().saying("--rank = 4"));
  save_changed_state();
  PlanFlags flags;
  flags.state_path = state_path_;
  const auto epoch = rows(flags, 0, {}, 0);
  ASSERT_THAT(epoch, test::Fails().saying("--epoch = 0"));
}

TEST(PhasesTest, StepsBelongToTheirPhase) {
  State state;
  state.phases = {{3, 4, 6}, {2, 3, 10}, {4, 2, 7}};
  EXPECT_EQ(phase_of(state, 0), 0u);
  EXPECT_EQ(phase_of(state, 2), 0u);
  EXPECT_EQ(phase_of(state, 3), 1u);
  EXPECT_EQ(phase_of(state, 8), 2u);
  EXPECT_EQ(phase_of(state, 9), std::nullopt);
  EXPECT_EQ(begin_of_phase(state, 1).position().step, 3u);
  EXPECT_EQ(begin_of_phase(state, 1).phases.size(), 2u);
}

}  // namespace
}  // namespace dovetail::tools
