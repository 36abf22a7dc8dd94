// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/digest_check.h"

#include <filesystem>

#include "tests/support/fails.h"
#include "tests/tools/plan_shapes.h"
#include "tools/command/text_file.h"

namespace dovetail::tools {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Kind = DigestVerdict::Kind;
using Reports = std::vector<RankDigest>;

/// What a rank reports that has read these steps.
RankDigest read_steps(const Plan& plan, std::uint32_t rank, std::uint32_t number, std::uint64_t first,
                      std::uint64_t end) {
  const EpochPlan epoch = plan.epoch(number).value();
  RankDigest report{.file = "file" + std::to_string(rank) + "." + std::to_string(first),
                    .plan_id = plan.plan_id(),
                    .rank = rank,
                    .world = plan.options().world,
                    .batch = plan.options().batch,
                    .replicate = plan.options().replicate,
                    .epoch = number,
                    .first_step = first,
                    .steps = end - first,
                    .digest = {}};
  for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
    const LaneOrder order = epoch.lane(epoch.first_lane(rank) + lane);
    for (std::uint64_t at = epoch.first_output(first); at < epoch.first_output(end); ++at) {
      const PlannedRecord record = order.at(at);
      if (record.status == RowStatus::first) report.digest += record_digest(record.id);
    }
  }
  return report;
}

void read_all(Reports& reports, const Plan& plan, std::uint32_t epoch, std::uint64_t first, std::uint64_t end) {
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    reports.push_back(read_steps(plan, rank, epoch, first, end));
  }
}

class DigestCheckTest : public ::testing::Test {
 protected:
  DigestVerdict check(const Plan& plan, const Reports& reports, std::uint32_t epoch = 0,
                      const std::optional<State>& state = {}) const {
    return check_digests(plan, state, epoch, dataset_, reports).value();
  }
  Plan make(const PlanOptions& options) const { return Plan::make(dataset_, options).value(); }

  std::shared_ptr<const DatasetShape> dataset_ = equal_shards(6, 50);
};

TEST_F(DigestCheckTest, WholeEpochsOfAnyTailAreGood) {
  for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
    const Plan plan = make({.world = 4, .batch = 7, .tail = tail});
    Reports reports;
    read_all(reports, plan, 3, 0, *plan.steps(3));
    const DigestVerdict verdict = check(plan, reports, 3);
    EXPECT_EQ(verdict.kind, Kind::good) << to_text(verdict);
    EXPECT_EQ(verdict.found, plan.epoch(3)->digest());
    EXPECT_THAT(to_text(verdict), HasSubstr("good: "));
  }
}

TEST_F(DigestCheckTest, ADigestThatDiffersNamesTheRank) {
  const Plan plan = make({.world = 4, .batch = 7});
  Reports reports;
  read_all(reports, plan, 0, 0, *plan.steps(0));
  reports[2].digest += Hash128{0, 1};
  const DigestVerdict verdict = check(plan, reports);
  EXPECT_EQ(verdict.kind, Kind::differs);
  ASSERT_EQ(verdict.problems.size(), 1u);
  EXPECT_THAT(verdict.problems[0], HasSubstr("rank 2 of 4 (file2.0)"));
  EXPECT_THAT(to_text(verdict), HasSubstr("differs: "));
}

TEST_F(DigestCheckTest, RowsLostToDamageAreNotGoodThoughTheDigestsAgree) {
  const Plan plan = make({.world = 4, .batch = 7});
  Reports reports;
  read_all(reports, plan, 0, 0, *plan.steps(0));
  reports[1].lost_rows = 1;
  reports[3].lost_rows = 9;
  const DigestVerdict verdict = check(plan, reports);
  EXPECT_EQ(verdict.kind, Kind::lost);
  EXPECT_EQ(verdict.lost_rows, 10u);
  EXPECT_THAT(verdict.problems, ElementsAre("rank 1 of 4 (file1.0) lost 1 row to damage or rejection",
                                            "rank 3 of 4 (file3.0) lost 9 rows to damage or rejection"));
  EXPECT_THAT(to_text(verdict), HasSubstr("lost: the digests agree, but 10 rows were lost to damage or rejected"));
  reports[2].digest += Hash128{0, 1};
  EXPECT_EQ(check(plan, reports).kind, Kind::differs);
  EXPECT_EQ(check(plan, reports).problems.size(), 3u);
}

TEST_F(DigestCheckTest, AMissingRankIsNamed) {
  const Plan plan = make({.world = 4, .batch = 7});
  Reports reports;
  read_all(reports, plan, 0, 0, *plan.steps(0));
  reports.erase(reports.begin());
  const DigestVerdict verdict = check(plan, reports);
  EXPECT_EQ(verdict.kind, Kind::unusable);
  EXPECT_THAT(verdict.problems, ElementsAre("there is no file of rank 0 of 4"));
}

TEST_F(DigestCheckTest, InterruptedRunsAreGoodIfTheirStepsMeet) {
  const Plan plan = make({.world = 2, .batch = 7});
  const std::uint64_t steps = *plan.steps(0);
  Reports reports;
  read_all(reports, plan, 0, 5, steps);
  // One rank has cut its first part once more; what counts is that each has read the same steps.
  reports.push_back(read_steps(plan, 0, 0, 0, 5));
  reports.push_back(read_steps(plan, 1, 0, 0, 2));
  reports.push_back(read_steps(plan, 1, 0, 2, 5));
  reports.push_back(read_steps(plan, 1, 0, 5, 5));
  EXPECT_EQ(check(plan, reports).kind, Kind::good) << to_text(check(plan, reports));
}

TEST_F(DigestCheckTest, GapsAndRepeatedStepsAreNamed) {
  const Plan plan = make({.world = 2, .batch = 7});
  const std::uint64_t steps = *plan.steps(0);
  Reports gap;
  read_all(gap, plan, 0, 0, 4);
  read_all(gap, plan, 0, 6, steps);
  EXPECT_THAT(check(plan, gap).problems, Contains("no file covers steps [4, 6)"));
  Reports end;
  read_all(end, plan, 0, 0, steps - 1);
  EXPECT_EQ(check(plan, end).kind, Kind::unusable);
  Reports twice;
  read_all(twice, plan, 0, 0, steps);
  twice.push_back(read_steps(plan, 1, 0, 3, 5));
  const DigestVerdict verdict = check(plan, twice);
  EXPECT_EQ(verdict.kind, Kind::unusable);
  EXPECT_THAT(verdict.problems, Contains(HasSubstr("some steps twice")));
  Reports uneven;
  uneven.push_back(read_steps(plan, 0, 0, 0, steps));
  uneven.push_back(read_steps(plan, 1, 0, 0, steps - 1));
  EXPECT_THAT(check(plan, uneven).problems, Contains(HasSubstr("rank 1 of 2 read steps [0, ")));
  EXPECT_EQ(check(plan, {}).kind, Kind::unusable);
}

TEST_F(DigestCheckTest, ReplicasCountOnceAndHaveToAgree) {
  const Plan plan = make({.world = 6, .batch = 7, .replicate = 3});
  Reports reports;
  read_all(reports, plan, 0, 0, *plan.steps(0));
  EXPECT_EQ(check(plan, reports).kind, Kind::good) << to_text(check(plan, reports));
  Reports one_each{reports[1], reports[5]};
  EXPECT_EQ(check(plan, one_each).kind, Kind::good);
  reports[4].digest += Hash128{1, 0};
  const DigestVerdict verdict = check(plan, reports);
  EXPECT_EQ(verdict.kind, Kind::unusable);
  EXPECT_THAT(verdict.problems, Contains(HasSubstr("rank 4 of 6")));
}

TEST_F(DigestCheckTest, OtherPlansAndEpochsAreNotTaken) {
  const Plan plan = make({.world = 2, .batch = 7});
  const Plan other = make({.world = 2, .batch = 7, .seed = 1});
  Reports reports;
  read_all(reports, plan, 0, 0, *plan.steps(0));
  reports[1] = read_steps(other, 1, 0, 0, *plan.steps(0));
  EXPECT_THAT(check(plan, reports).problems, Contains(HasSubstr("rank 1 of 2 (file1.0) read another plan")));
  reports[1] = read_steps(plan, 1, 1, 0, *plan.steps(0));
  EXPECT_THAT(check(plan, reports).problems, Contains(HasSubstr("read epoch 1, not 0")));
}

TEST_F(DigestCheckTest, AnEpochThatChangedItsWorldTwiceIsCheckedAsOne) {
  const Plan first = make({.world = 4, .batch = 5, .seed = 9});
  const State one = first.state({2, 4}).value();
  const Plan second = Plan::resume(dataset_, one.options(3, 4), one).value();
  const State two = second.state({2, 9}).value();
  const Plan third = Plan::resume(dataset_, two.options(2, 8), two).value();
  Reports reports;
  read_all(reports, first, 2, 0, 4);
  read_all(reports, second, 2, 4, 9);
  read_all(reports, third, 2, 9, *third.steps(2));
  EXPECT_EQ(check(third, reports, 2, two).kind, Kind::good) << to_text(check(third, reports, 2, two));

  Reports without_first(reports.begin() + 1, reports.end());
  EXPECT_THAT(check(third, without_first, 2, two).problems, ElementsAre("there is no file of rank 0 of 4"));
  reports[5].digest += Hash128{0, 7};
  const DigestVerdict altered = check(third, reports, 2, two);
  EXPECT_EQ(altered.kind, Kind::differs);
  ASSERT_EQ(altered.problems.size(), 1u);
  EXPECT_THAT(altered.problems[0], HasSubstr("rank 1 of 3"));
  // Without the state nobody knows of the worlds before.
  EXPECT_EQ(check(third, reports, 2).kind, Kind::unusable);
}

TEST_F(DigestCheckTest, AWorldThatFitsTheLanesChangesNoOrder) {
  const Plan four = make({.world = 4, .batch = 5});
  const State state = four.state({0, 6}).value();
  const Plan two = Plan::resume(dataset_, state.options(2, 10), state).value();
  ASSERT_FALSE(two.changes_world());
  Reports reports;
  read_all(reports, four, 0, 0, 6);
  read_all(reports, two, 0, 6, *two.steps(0));
  EXPECT_EQ(check(two, reports, 0, state).kind, Kind::good) << to_text(check(two, reports, 0, state));
  read_all(reports, four, 0, 6, 8);
  EXPECT_EQ(check(two, reports, 0, state).kind, Kind::unusable);
}

TEST_F(DigestCheckTest, FilesOfReadAreTakenAndOthersRefused) {
  const std::string path = test_file("report");
  const std::string good =
      R"({"plan_id":"00112233445566778899aabbccddeeff","rank":1,"world":2,"replicate":1,"batch":5,"epoch":3,)"
      R"("steps":7,"substituted":3,"damaged_empty":4,"digest":"000000000000000000000000000000ff"})";
  ASSERT_TRUE(replace_text(path, good));
  const Reports reports = read_digests({path}).value();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].first_step, 0u);
  EXPECT_EQ(reports[0].end_step(), 7u);
  EXPECT_EQ(reports[0].digest, (Hash128{0, 255}));
  EXPECT_EQ(reports[0].lost_rows, 7u);
  for (const auto& [from, to] :
       {std::pair("\"rank\":1", "\"rank\":2"), std::pair("\"steps\":7", "\"steps\":-1"),
        std::pair("\"digest\"", "\"digits\""), std::pair("{", "["), std::pair("\"damaged_empty\"", "\"damaged\""),
        std::pair("\"substituted\":3", "\"substituted\":36")}) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string(from).size(), to);
    ASSERT_TRUE(replace_text(path, bad));
    EXPECT_THAT(read_digests({path}), test::Fails(Errc::bad_state).in(path)) << to;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dovetail::tools
