// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <vector>

#include <boost/asio/use_future.hpp>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

class ReplayTest : public FolderTest {
 protected:
  static ReaderOptions options(std::uint32_t replay) { return {.plan = {.batch = 8}, .epochs = 1, .replay = replay}; }

  /// All that a trainer sees of a batch.
  struct Seen {
    std::uint64_t step;
    std::vector<std::uint64_t> ids;
    std::vector<RowStatus> status;
    std::string values;
    std::string state;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  static Seen look_at(const Batch& batch) {
    return {.step = batch.step(),
            .ids = {batch.ids().begin(), batch.ids().end()},
            .status = {batch.status().begin(), batch.status().end()},
            .values = std::string(as_chars(batch.values())),
            .state = batch.state().to_text()};
  }

  Dataset dataset_ = make_sample(folder_.path("data"), {.shard_records = {100, 60}});
};

TEST_F(ReplayTest, TheFirstBatchesComeAgainInOrderForEver) {
  BatchReader plain = BatchReader::open(dataset_, options(0)).value();
  BatchReader reader = BatchReader::open(dataset_, options(3)).value();
  std::vector<Seen> first;
  for (int i = 0; i < 3; ++i) first.push_back(look_at(*plain.next().value()));
  for (std::size_t i = 0; i < 100; ++i) {
    const std::optional<Batch> batch = reader.next().value();
    ASSERT_TRUE(batch.has_value());
    ASSERT_EQ(look_at(*batch), first[i % 3]) << i;
    ASSERT_EQ(reader.state().to_text(), first[i % 3].state) << i;
  }
}

TEST_F(ReplayTest, LaterRoundsNeitherReadNorCopy) {
  BatchReader reader = BatchReader::open(dataset_, options(3)).value();
  std::vector<const std::byte*> slabs;
  for (int i = 0; i < 3; ++i) slabs.push_back(reader.next().value()->slab().data());
  const std::uint64_t gathered = reader.stats().batches;
  for (std::size_t i = 0; i < 30; ++i) ASSERT_EQ(reader.next().value()->slab().data(), slabs[i % 3]);
  EXPECT_EQ(reader.stats().batches, gathered + 30);
  EXPECT_EQ(reader.stats().slots, 3u);
  const std::chrono::nanoseconds spent = reader.stats().time_gathering;
  for (int i = 0; i < 30; ++i) reader.next().value();
  EXPECT_EQ(reader.stats().time_gathering, spent);
}

TEST_F(ReplayTest, AsManyMayBeHeldAsUsual) {
  ReaderOptions asked = options(4);
  asked.max_held = 2;
  BatchReader reader = BatchReader::open(dataset_, asked).value();
  for (int round = 0; round < 5; ++round) {
    std::optional<Batch> a = reader.next().value();
    std::optional<Batch> b = reader.next().value();
    EXPECT_THAT(reader.next(), Fails(Errc::slots_held));
  }
}

TEST_F(ReplayTest, TheSameBatchCanBeHeldTwice) {
  BatchReader reader = BatchReader::open(dataset_, options(1)).value();
  const std::optional<Batch> a = reader.next().value();
  const std::optional<Batch> b = reader.next().value();
  EXPECT_EQ(a->slab().data(), b->slab().data());
  EXPECT_EQ(look_at(*a), look_at(*b));
}

TEST_F(ReplayTest, AllStepsOfAnEpochCanBeRepeatedAndNoneEndsIt) {
  BatchReader reader = BatchReader::open(dataset_, options(20)).value();
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::optional<Batch> batch = reader.next().value();
    ASSERT_TRUE(batch.has_value());
    ASSERT_EQ(batch->step(), i % 20);
  }
}

TEST_F(ReplayTest, WorksForAsynchronousCallsAndStops) {
  BatchReader reader = BatchReader::open(dataset_, options(2)).value();
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::optional<Batch> batch = reader.async_next(boost::asio::use_future).get();
    ASSERT_EQ(batch->step(), i % 2);
  }
  reader.stop();
  EXPECT_FALSE(reader.next().has_value());
}

TEST_F(ReplayTest, MoreStepsThanAreLeftAreRefused) {
  ReaderOptions asked = options(16);
  asked.start.step = 5;
  const Result<BatchReader> reader = BatchReader::open(dataset_, asked);
  ASSERT_THAT(reader, Fails(Errc::invalid_option).saying("15 steps left"));
}

TEST_F(ReplayTest, StepsBehindTheLastEpochAreRefused) {
  ReaderOptions asked = options(2);
  asked.start.epoch = 1;  // of a reader that ends before it; nothing would ever come
  EXPECT_THAT(BatchReader::open(dataset_, asked), Fails(Errc::invalid_option).saying("ends before epoch 1, as epochs"));
}

TEST_F(ReplayTest, MoreThanTheBudgetHoldsIsRefused) {
  ReaderOptions asked = options(20);
  asked.memory_bytes = 32 << 10;
  EXPECT_THAT(BatchReader::open(dataset_, asked), Fails(Errc::budget_too_small));
}

}  // namespace
}  // namespace dovetail::test
