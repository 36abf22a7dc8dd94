// SPDX-License-Identifier: Apache-2.0
// What a reader delivers after it was stopped: the same rows in the same world, the rest of the
// epoch in another one.
#include <dovetail/batch_reader.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class ResumeTest : public SampleReaderTest {};

TEST_F(ResumeTest, EveryStateOfAnEpochContinuesWithTheIdenticalRows) {
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential, OrderKind::global}) {
    for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
      ReaderOptions options = this->options(1, 2, 20, tail);
      options.plan.order = order;
      options.plan.lanes = 4;
      options.start.epoch = 3;
      options.epochs = 4;
      BatchReader reader = BatchReader::open(dataset(), options).value();
      std::vector<State> states{reader.state()};
      Rows all;
      while (std::optional<Batch> batch = reader.next().value()) {
        append_checked(*batch, kSampleShape, all);
        ASSERT_EQ(batch->state(), reader.state());
        states.push_back(batch->state());
      }
      ASSERT_EQ(states.size(), reader.steps(3).value() + 1);
      EXPECT_EQ(reader.state().position(), (Position{4, 0}));

      options.start = {};
      for (std::size_t step = 0; step < states.size(); ++step) {
        options.state = State::from_text(states[step].to_text()).value();
        BatchReader resumed = BatchReader::open(dataset(), options).value();
        ASSERT_EQ(resumed.state(), states[step]) << "right after it was restored";
        ASSERT_EQ(resumed.plan_checksum(), reader.plan().plan_checksum({3, step}));
        ASSERT_EQ(read_epoch(resumed, kSampleShape), rows_from(all, 20 * step)) << "step " << step;
      }
    }
  }
}

TEST_F(ResumeTest, StatesAreTheSameOnEveryRank) {
  std::set<std::string> states;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    BatchReader reader = BatchReader::open(dataset(), options(rank, 3, 16)).value();
    for (int step = 0; step < 4; ++step) ASSERT_TRUE(reader.next().value().has_value());
    states.insert(reader.state().to_text());
  }
  EXPECT_EQ(states.size(), 1u);
}

TEST_F(ResumeTest, TheLastStateGivesTheEndAtOnceAndThenTheNextEpoch) {
  ReaderOptions options = this->options(0, 1, 100);
  options.epochs = 2;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  std::optional<State> last;
  while (std::optional<Batch> batch = reader.next().value()) last = batch->state();
  const Rows second = read_epoch(reader, kSampleShape);
  EXPECT_EQ(last->position(), (Position{0, reader.steps(0).value()}));

  options.state = last;
  BatchReader resumed = BatchReader::open(dataset(), options).value();
  EXPECT_FALSE(resumed.next().value().has_value());
  EXPECT_EQ(resumed.state().position(), (Position{1, 0}));
  EXPECT_EQ(read_epoch(resumed, kSampleShape), second);
  EXPECT_EQ(resumed.stats().batches, reader.steps(1).value());
}

TEST_F(ResumeTest, ReadsNothingButWhatComesNext) {
  ReaderOptions options = this->options(0, 1, 32);
  BatchReader whole = BatchReader::open(dataset(), options).value();
  const std::uint64_t steps = whole.steps(0).value();
  read_epoch(whole, kSampleShape);
  for (const std::uint64_t step : {steps / 2, steps - 2, steps}) {
    options.state = whole.plan().state({0, step}).value();
    BatchReader rest = BatchReader::open(dataset(), options).value();
    read_epoch(rest, kSampleShape);
    if (step == steps) {
      EXPECT_EQ(rest.stats().reads, 0u);
      continue;
    }
    // Runs are what is read: those of the rows that are left, each once, and no other.
    const EpochPlan epoch = rest.plan().epoch(0).value();
    LaneCursor cursor = epoch.lane(0).cursor(epoch.first_output(step));
    std::vector<Pick> picks((steps - step) * 32);
    cursor.next(picks);
    std::uint64_t bytes = 0;
    std::set<std::uint64_t> runs;
    for (const Pick& pick : picks) {
      if (!runs.insert(pick.run).second) continue;
      const dovetail::Run run = cursor.run_of(pick);
      for (std::uint64_t record = 0; record < run.count; ++record) {
        bytes += sample_record(run.first_id + record, kSampleShape).size();
      }
    }
    EXPECT_LE(rest.stats().read_bytes, bytes + runs.size() * 512) << "from step " << step << " of " << steps;
    EXPECT_LT(rest.stats().read_bytes, whole.stats().read_bytes);
  }
}

/// Runs all ranks of a world for some steps from a state, and returns the state after them.
State run_world(const Dataset& dataset, ReaderOptions options, std::optional<State> state, std::uint32_t world,
                std::uint32_t batch, std::uint64_t steps, std::map<std::uint64_t, int>& seen) {
  std::optional<State> after;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    options.ranks = {.rank = rank, .world = world};
    options.plan.batch = batch;
    options.state = state;
    BatchReader reader = BatchReader::open(dataset, options).value();
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::optional<Batch> next = reader.next().value();
      if (!next) break;
      Rows rows;
      append_checked(*next, kSampleShape, rows);
      for (const Row& row : rows) {
        if (row.status == RowStatus::first) ++seen[row.id];
      }
      after = next->state();
    }
  }
  return *after;
}

TEST_F(ResumeTest, EightSixSixteenFiveRanksDeliverTheEpochOnce) {
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::global}) {
    for (const Assign assign : {Assign::even, Assign::files, Assign::runs}) {
      if (order == OrderKind::global && assign != Assign::even) continue;
      ReaderOptions options = this->options(0, 1, 1, Tail::pad);
      options.plan.order = order;
      options.plan.assign = assign;
      std::map<std::uint64_t, int> seen;
      State state = run_world(dataset(), options, std::nullopt, 8, 9, 3, seen);
      state = run_world(dataset(), options, state, 6, 10, 4, seen);
      state = run_world(dataset(), options, state, 16, 3, 5, seen);
      state = run_world(dataset(), options, state, 5, 8, 1000, seen);
      EXPECT_EQ(seen.size(), kSampleRecords);
      for (const auto& [id, times] : seen) ASSERT_EQ(times, 1) << "record " << id;
    }
  }
}

TEST_F(ResumeTest, SaysThatWholeFilesAreCutEvenAfterAChange) {
  ReaderOptions options = this->options(0, 2, 10, Tail::pad);
  options.plan.assign = Assign::files;
  options.state = BatchReader::open(dataset(), options)->plan().state({0, 2}).value();
  std::vector<std::string> lines;
  options.registration = Registration::off;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  options.ranks = {.rank = 0, .world = 3};
  ASSERT_TRUE(BatchReader::open(dataset(), options).has_value());
  EXPECT_THAT(lines, ::testing::Contains(::testing::HasSubstr("divided evenly")));
}

TEST_F(ResumeTest, AMixOfDatasetsIsDeliveredAsPlannedAndResumes) {
  const SampleShape other{.shard_records = {50, 90}};
  const Dataset second = make_sample(folder().path("second"), other);
  const Dataset both = Dataset::join(std::vector<Dataset>{dataset(), second}).value();
  ASSERT_EQ(both.records(), kSampleRecords + 140);
  ASSERT_EQ(both.shape()->source_shards, (std::vector<std::uint32_t>{6, 2}));
  ReaderOptions options = this->options(1, 2, 12);
  options.plan.mix.schedule = {{0, {3, 1}}, {20, {1, 1}}};
  options.plan.mix.stop = MixStop::all;
  BatchReader reader = BatchReader::open(both, options).value();
  const EpochPlan epoch = reader.plan().epoch(0).value();
  LaneCursor cursor = epoch.lane(1).cursor();
  std::vector<State> states{reader.state()};
  std::vector<std::vector<std::uint64_t>> steps;
  while (const std::optional<Batch> batch = reader.next().value()) {
    std::vector<Pick> picks(12);
    cursor.next(picks);
    steps.emplace_back();
    for (std::uint32_t row = 0; row < 12; ++row) {
      const std::uint64_t id = batch->ids()[row];
      ASSERT_EQ(id, cursor.record(picks[row]).id);
      ASSERT_EQ(batch->status()[row], RowStatus::first);
      ASSERT_EQ(as_chars(batch->row(row)),
                id < kSampleRecords ? sample_record(id, kSampleShape) : sample_record(id - kSampleRecords, other));
      steps.back().push_back(id);
    }
    states.push_back(batch->state());
  }
  ASSERT_EQ(steps.size(), epoch.steps());
  for (std::size_t step = 0; step < states.size(); step += 7) {
    options.state = states[step];
    BatchReader resumed = BatchReader::open(both, options).value();
    for (std::size_t next = step; next < steps.size(); ++next) {
      const std::optional<Batch> batch = resumed.next().value();
      ASSERT_TRUE(batch.has_value());
      ASSERT_TRUE(std::equal(steps[next].begin(), steps[next].end(), batch->ids().begin())) << "step " << next;
    }
    ASSERT_FALSE(resumed.next().value().has_value());
  }
}

TEST_F(ResumeTest, AJobThatResumesEndsWithTheSameEpoch) {
  ReaderOptions options = this->options(0, 1, 400);
  options.epochs = 2;
  options.state = BatchReader::open(dataset(), options)->plan().state({1, 1}).value();
  BatchReader reader = BatchReader::open(dataset(), options).value();
  EXPECT_EQ(read_epoch(reader, kSampleShape).size(), 400u);
  EXPECT_EQ(reader.state().position(), (Position{2, 0}));
  EXPECT_FALSE(reader.next().value().has_value());
  options.state = reader.state();
  BatchReader over = BatchReader::open(dataset(), options).value();
  EXPECT_FALSE(over.next().value().has_value());
  EXPECT_EQ(over.state(), *options.state);
}

TEST_F(ResumeTest, TheLastEpochThatCanBeNumberedIsTheLast) {
  ReaderOptions options = this->options(0, 1, 400);
  options.start.epoch = ~std::uint32_t{0};
  options.epochs = 0;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  EXPECT_EQ(read_epoch(reader, kSampleShape).size(), 800u);
  EXPECT_EQ(reader.state().position(), (Position{~std::uint32_t{0}, 2}));
  EXPECT_FALSE(reader.next().value().has_value());
  EXPECT_FALSE(reader.next().value().has_value());
}

// Each repetition is a stretch of its own; a search among all of them for every row would take
// minutes.
TEST_F(ResumeTest, ABatchMayRepeatALaneTenThousandTimes) {
  const SampleShape one{.shard_records = {1}, .min_bytes = 5, .max_bytes = 5};
  const Dataset single = make_sample(folder().path("single"), one);
  BatchReader reader = BatchReader::open(single, options(0, 1, 10000, Tail::wrap)).value();
  const std::optional<Batch> batch = reader.next().value();
  ASSERT_EQ(batch->rows(), 10000u);
  EXPECT_EQ(batch->valid(), 1u);
  EXPECT_EQ(as_chars(batch->row(9999)), sample_record(0, one));
}

TEST_F(ResumeTest, AStateOfAnotherRunIsRefusedWithTheDifference) {
  ReaderOptions options = this->options(0, 1, 10);
  options.state = BatchReader::open(dataset(), options)->state();
  options.plan.seed = 8;
  EXPECT_THAT(BatchReader::open(dataset(), options), Fails(Errc::state_mismatch).saying("seed is 8, but was 0"));
}

}  // namespace
}  // namespace dovetail::test
