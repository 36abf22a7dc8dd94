// SPDX-License-Identifier: Apache-2.0
// Changes of world in mid-epoch. That any sequence of them gives what the definition says is
// random_plans_test's claim.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tests/plan/rows.h"
#include "tests/plan/shapes.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

/// A job that is stopped and started with another world, and keeps what it has seen.
class Job {
 public:
  Job(std::shared_ptr<const DatasetShape> shape, const PlanOptions& options, std::uint32_t epoch)
      : shape_(std::move(shape)), plan_(Plan::make(shape_, options).value()), position_{epoch, 0} {}

  void take(std::uint64_t steps) {
    const EpochPlan epoch = plan_.epoch(position_.epoch).value();
    for (; steps > 0; --steps) {
      for (std::uint32_t rank = 0; rank < plan_.options().world; ++rank) {
        for (const PlannedRecord& row : rows_of(epoch, rank, position_.step)) rows_.push_back(row);
      }
      ++position_.step;
    }
  }
  void take_rest() { take(plan_.steps(position_.epoch).value() - position_.step); }

  Result<Plan> try_restart(const PlanOptions& options) const {
    const State state = plan_.state(position_).value();
    return Plan::resume(shape_, options, State::from_bytes(state.to_bytes()).value());
  }
  void restart(const PlanOptions& options) { plan_ = try_restart(options).value(); }

  const Plan& plan() const { return plan_; }
  const std::vector<PlannedRecord>& rows() const { return rows_; }
  std::map<std::uint64_t, int> times_seen() const {
    std::map<std::uint64_t, int> seen;
    for (const PlannedRecord& row : rows_) {
      if (row.status == RowStatus::first) ++seen[row.id];
    }
    return seen;
  }

 private:
  std::shared_ptr<const DatasetShape> shape_;
  Plan plan_;
  Position position_;
  std::vector<PlannedRecord> rows_;
};

constexpr std::uint64_t kRecords = 5000;

std::shared_ptr<DatasetShape> shape() {
  return shape_of({700, 1300, 0, 1, 999, 2000}, 32);
}

PlanOptions options(std::uint32_t world, std::uint32_t batch, Tail tail = Tail::drop) {
  return {.world = world, .batch = batch, .tail = tail, .open_runs = 8, .pool = 64, .seed = 3};
}

TEST(ElasticTest, EightSixSixteenFiveGiveEveryRecordOnceInOneEpoch) {
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential, OrderKind::global}) {
    for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
      const auto with = [&](std::uint32_t world, std::uint32_t batch) {
        PlanOptions made = options(world, batch, tail);
        made.order = order;
        return made;
      };
      Job job(shape(), with(8, 20), 2);
      job.take(7);
      job.restart(with(6, 11));
      job.take(9);
      job.restart(with(16, 5));
      job.take(4);
      job.restart(with(5, 13));
      job.take_rest();
      const auto seen = job.times_seen();
      for (const auto& [id, times] : seen) ASSERT_EQ(times, 1) << "record " << id;
      const EpochPlan epoch = job.plan().epoch(2).value();
      EXPECT_EQ(seen.size(), epoch.delivered());
      EXPECT_EQ(job.rows().size(), epoch.rows());
      if (tail != Tail::drop) {
        EXPECT_EQ(seen.size(), kRecords);
      }
      EXPECT_LT(epoch.dropped(), 5u * 13u);
      Hash128 digest;
      for (const auto& [id, times] : seen) digest += record_digest(id);
      EXPECT_EQ(epoch.digest(), digest);
    }
  }
}

TEST(ElasticTest, WorldsThatDivideTheLanesSeeTheSameGlobalBatches) {
  PlanOptions twelve = options(12, 10);
  Job steady(shape(), twelve, 1);
  steady.take_rest();
  Job changing(shape(), twelve, 1);
  for (const std::uint32_t world : {1u, 2u, 3u, 4u, 6u, 12u}) {
    changing.restart(options(world, 120 / world));
    EXPECT_FALSE(changing.plan().changes_world());
    EXPECT_EQ(changing.plan().lanes(), 12u);
    changing.take(3);
  }
  changing.take_rest();
  EXPECT_EQ(changing.rows(), steady.rows());
  // The next epoch as well.
  EXPECT_EQ(changing.plan().steps(2).value(), steady.plan().steps(2).value());
  EXPECT_EQ(rows_of(changing.plan().epoch(2).value(), 0, 0), rows_of(steady.plan().epoch(2).value(), 0, 0));
}

TEST(ElasticTest, WholeFilesAreCutEvenAfterAChange) {
  PlanOptions files = options(3, 10, Tail::pad);
  files.assign = Assign::files;
  Job job(shape(), files, 0);
  job.take(20);
  files.world = 4;
  job.restart(files);
  EXPECT_TRUE(job.plan().changes_world());
  const EpochPlan rest = job.plan().epoch(0).value();
  std::vector<std::uint64_t> lengths;
  for (std::uint32_t lane = 0; lane < rest.lanes(); ++lane) lengths.push_back(rest.lane(lane).records());
  EXPECT_LE(*std::max_element(lengths.begin(), lengths.end()) - *std::min_element(lengths.begin(), lengths.end()), 1u);
  job.take_rest();
  EXPECT_EQ(job.times_seen().size(), kRecords);
}

TEST(ElasticTest, FewRecordsForManyRanksWrapOrPadAndNeverFail) {
  for (const Tail tail : {Tail::pad, Tail::wrap}) {
    Job job(shape(), options(1, 4999, tail), 0);
    job.take(1);
    job.restart(options(7, 3, tail));
    const EpochPlan rest = job.plan().epoch(0).value();
    EXPECT_EQ(rest.steps() - rest.first_step(), 1u);
    job.take_rest();
    EXPECT_EQ(job.times_seen().size(), kRecords);
    const auto empty = std::count_if(job.rows().begin(), job.rows().end(),
                                     [](const PlannedRecord& row) { return row.status == RowStatus::empty; });
    EXPECT_EQ(empty, tail == Tail::pad ? 20 : 0);
  }
}

TEST(ElasticTest, AfterTheLastStepNothingIsLeftWhateverTheWorld) {
  for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
    Job job(shape(), options(3, 700, tail), 4);
    job.take_rest();
    const std::uint64_t steps = job.plan().steps(4).value();
    const Hash128 digest = job.plan().epoch(4)->digest();
    job.restart(options(2, 1, tail));
    const EpochPlan rest = job.plan().epoch(4).value();
    EXPECT_EQ(rest.steps(), steps);
    EXPECT_EQ(rest.first_step(), steps);
    EXPECT_EQ(rest.digest(), digest);
    EXPECT_EQ(rest.lane(1).at(0), PlannedRecord{});
    EXPECT_EQ(rest.share(1).records, 0u);
    EXPECT_EQ(rest.records() - rest.dropped() + rest.padded(), rest.rows());
    EXPECT_EQ(job.plan().steps(5).value(), 2500u);
  }
}

TEST(ElasticTest, AChangeBeforeTheFirstStepPlansTheEpochAfresh) {
  Job job(shape(), options(8, 20), 2);
  job.restart(options(5, 9));
  EXPECT_FALSE(job.plan().changes_world());
  EXPECT_EQ(job.plan().plan_id(), Plan::make(shape(), options(5, 9))->plan_id());
}

TEST(ElasticTest, MoreThanEightChangesAreRefusedWithAdvice) {
  Job job(shape(), options(2, 3), 0);
  for (std::uint32_t change = 1; change <= 8; ++change) {
    job.take(1);
    job.restart(options(change % 2 + 1, 3 + change));
  }
  job.restart(options(1, 1));  // not a step since the last change: nothing to remember
  job.take(1);
  EXPECT_THAT(job.try_restart(options(3, 2)), Fails(Errc::too_many_changes).saying("begin epoch 1"));
  EXPECT_TRUE(job.try_restart(options(1, 1)).has_value()) << "the same world goes on";
  job.take_rest();
  EXPECT_TRUE(job.try_restart(options(1, 1)).has_value());
}

TEST(ElasticTest, PlanIdAndCheckTellTheHistoriesApart) {
  Job one(shape(), options(4, 5), 0);
  Job two(shape(), options(4, 5), 0);
  one.take(3);
  two.take(4);
  one.restart(options(3, 5));
  two.restart(options(3, 5));
  const Plan fresh = Plan::make(shape(), options(3, 5)).value();
  EXPECT_NE(one.plan().plan_id(), two.plan().plan_id());
  EXPECT_NE(one.plan().plan_id(), fresh.plan_id());
  EXPECT_NE(one.plan().plan_checksum(), two.plan().plan_checksum());
  EXPECT_EQ(one.plan().order_id(), fresh.order_id());
}

TEST(ElasticTest, BadWorldsAreRefusedAsEver) {
  Job job(shape(), options(4, 5), 0);
  job.take(3);
  PlanOptions bad = options(6, 5);
  bad.lanes = 4;
  EXPECT_THAT(job.try_restart(bad), Fails().saying("lanes = 4 does not work with 6 readers"));
  bad = options(6, 5);
  bad.replicate = 4;
  EXPECT_TRUE(job.try_restart(bad).has_error());
}

}  // namespace
}  // namespace dovetail::test
