// SPDX-License-Identifier: Apache-2.0
// A reader that is cancelled, stopped or destroyed at the n-th thing that happens inside it, for every n until a run passes
// untouched; and one whose n-th read is slow.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <dovetail/batch_reader.h>

#include "tests/faults/call_events.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/sanitizers.h"

namespace dovetail {
namespace {

namespace asio = boost::asio;
using testing::AtEvent;
using testing::Rows;

enum class Act { cancel, stop, destroy };
std::ostream& operator<<(std::ostream& out, Act act) {
  constexpr std::array<const char*, 3> kNames{"cancel", "stop", "destroy"};
  return out << kNames.at(static_cast<std::size_t>(act));
}

/// How rows come to be: gathered from blocks, scattered as blocks are read, or read straight into their rows.
const std::array<testing::SampleShape, 3> kShapes{{
    {.shard_records = {60, 0, 45}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048},
    {.shard_records = {60, 0, 45}, .min_bytes = 300, .max_bytes = 300, .codec = Codec::none, .block_bytes = 2048},
    {.shard_records = {9, 8}, .min_bytes = 60'000, .max_bytes = 70'000, .codec = Codec::none, .run_records = 2},
}};

ReaderOptions options_of(StorageKind storage) {
  ReaderOptions options;
  options.plan.batch = 8;
  options.plan.tail = Tail::pad;
  options.plan.open_runs = 4;
  options.plan.pool = 16;
  options.epochs = 1;
  options.decode_threads = 2;
  options.storage = storage;
  options.registration = Registration::off;
  return options;
}

/// A trainer that asks for batch after batch until the end, to which something happens at one event.
class Trainer {
 public:
  Trainer(const Dataset& dataset, const testing::SampleShape& shape, StorageKind storage, Act act)
      : dataset_(dataset), shape_(shape), storage_(storage), act_(act) {}

  /// Whether there were so many events.
  bool run_until_event(std::uint64_t n) {
    AtEvent event(n, [this](int) { happen(); });  // before the reader begins to read
    reader_ = BatchReader::open(dataset_, options_of(storage_)).value();
    const Rows planned = testing::planned(reader_->plan(), 0, 0);
    ask();
    while (!over_) context_.run_one();
    const bool struck = event.disarm();
    while (struck && !acted_) context_.run_one();
    EXPECT_EQ(asked_, completed_) << "a handler runs once";
    if (!struck || act_ == Act::cancel) {
      EXPECT_EQ(rows_, planned) << "a reader that was only cancelled delivers the epoch";
    }
    EXPECT_TRUE(rows_ == Rows(planned.begin(), planned.begin() + static_cast<std::ptrdiff_t>(rows_.size())));
    if (reader_ && struck && act_ == Act::stop) {
      EXPECT_EQ(reader_->next().error().kind(), ErrorKind::cancelled);
    }
    reader_.reset();
    context_.poll();
    EXPECT_EQ(asked_, completed_);
    return struck;
  }

 private:
  // On a thread of the reader, as a rule: the trainer's does it, while that one waits in the middle of its call.
  void happen() {
    auto moment = std::make_shared<std::promise<void>>();
    std::future<void> at_work = moment->get_future();
    asio::post(context_, [this, moment] {
      if (act_ != Act::cancel) moment->set_value();  // it waits for the call to end
      act();
      acted_ = true;
      if (act_ == Act::cancel) moment->set_value();
    });
    if (std::this_thread::get_id() == trainer_) return;
    at_work.wait();
    if (act_ != Act::cancel) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  void act() {
    switch (act_) {
      case Act::cancel:
        return signal_.emit(asio::cancellation_type::total);
      case Act::stop:
        return reader_->stop();
      case Act::destroy:
        return reader_.reset();
    }
  }

  void ask() {
    if (!reader_) {
      over_ = true;
      return;
    }
    ++asked_;
    reader_->async_next(asio::bind_cancellation_slot(
        signal_.slot(),
        asio::bind_executor(context_, [this](boost::system::error_code error, std::optional<Batch> batch) {
          ++completed_;
          take(error, std::move(batch));
        })));
  }

  void take(boost::system::error_code error, std::optional<Batch> batch) {
    if (error == asio::error::operation_aborted && act_ == Act::cancel) return ask();
    if (error) {
      EXPECT_EQ(error, asio::error::operation_aborted);
      EXPECT_NE(act_, Act::cancel);
      over_ = true;
    } else if (batch) {
      testing::append_checked(*batch, shape_, rows_);
      batch.reset();
      ask();
    } else {
      over_ = true;
    }
  }

  const Dataset& dataset_;
  const testing::SampleShape& shape_;
  const StorageKind storage_;
  const Act act_;
  const std::thread::id trainer_ = std::this_thread::get_id();
  asio::io_context context_;
  const asio::executor_work_guard<asio::io_context::executor_type> busy_{context_.get_executor()};
  asio::cancellation_signal signal_;
  std::optional<BatchReader> reader_;
  Rows rows_;
  unsigned asked_ = 0;
  unsigned completed_ = 0;
  bool over_ = false;
  bool acted_ = false;
};

class AwaitPointsTest : public ::testing::TestWithParam<std::tuple<StorageKind, std::size_t>> {
 protected:
  AwaitPointsTest() : dataset_(testing::make_sample(folder_.path("data"), shape())) {}
  void SetUp() override {
    const auto reader = BatchReader::open(dataset_, options_of(storage()));
    if (!reader) GTEST_SKIP() << reader.error().to_string();
  }

  static StorageKind storage() { return std::get<0>(GetParam()); }
  static const testing::SampleShape& shape() { return kShapes.at(std::get<1>(GetParam())); }

  testing::TempFolder folder_;
  Dataset dataset_;
};

TEST_P(AwaitPointsTest, AHandlerRunsOnceWhateverHappensWhenever) {
  for (const Act act : {Act::cancel, Act::stop, Act::destroy}) {
    std::uint64_t n = 1;
    for (bool struck = true; struck && !HasFailure(); ++n) {
      SCOPED_TRACE(::testing::Message() << act << " at event " << n);
      struck = Trainer(dataset_, shape(), storage(), act).run_until_event(n);
    }
    EXPECT_GT(n, 20u);
    std::cout << act << ": " << n - 2 << " events\n";
  }
}

TEST_P(AwaitPointsTest, AReadThatIsSlowChangesNothing) {
  constexpr std::chrono::milliseconds kSlow{5};
  std::uint64_t n = 1;
  for (bool struck = true; struck && !HasFailure(); n += testing::kSanitized ? 7 : 1) {
    SCOPED_TRACE(::testing::Message() << "event " << n);
    AtEvent event(n, [&](int) { std::this_thread::sleep_for(kSlow); });
    BatchReader reader = BatchReader::open(dataset_, options_of(storage())).value();
    EXPECT_EQ(testing::read_epoch(reader, shape()), testing::planned(reader.plan(), 0, 0));
    struck = event.disarm();
  }
  EXPECT_GT(n, 20u);
  std::cout << n - 2 << " events\n";
}

const auto kStorages = ::testing::Values(StorageKind::pread, StorageKind::io_uring, StorageKind::io_uring_direct);
const auto kNameOf = [](const auto& tested) {
  const std::array<const char*, 3> kWays{"gathered", "scattered", "straight"};
  return std::string(to_string(std::get<0>(tested.param))) + "_" + kWays.at(std::get<1>(tested.param));
};
INSTANTIATE_TEST_SUITE_P(Storages, AwaitPointsTest,
                         ::testing::Combine(kStorages, ::testing::Range<std::size_t>(0, kShapes.size())), kNameOf);

TEST(SlowReadTest, TheStatsNameTheShard) {
  testing::TempFolder folder;
  const Dataset dataset = testing::make_sample(folder.path("data"), kShapes[0]);
  unsigned named = 0;
  std::uint64_t n = 1;
  for (bool struck = true; struck && !::testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(::testing::Message() << "read " << n);
    const std::chrono::milliseconds slow(n % 8 == 0 ? 200 : 20);
    std::string path;
    AtEvent event(
        n,
        [&](int file) {
          path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
          std::this_thread::sleep_for(slow);
        },
        AtEvent::Counted::only_reads);
    BatchReader reader = BatchReader::open(dataset, options_of(StorageKind::pread)).value();
    EXPECT_EQ(testing::read_epoch(reader, kShapes[0]), testing::planned(reader.plan(), 0, 0));
    struck = event.disarm();
    if (!struck) break;
    bool found = false;
    for (const ShardReads& shard : reader.stats().slowest_shards) {
      found = found || (std::filesystem::equivalent(shard.file, path) && shard.longest >= slow);
    }
    named += found ? 1 : 0;
  }
  const std::uint64_t opening = 2 * 2;  // reads that open a shard are not those of its records
  EXPECT_GE(named + opening, n - 1);
  EXPECT_GT(named, 5u);
  std::cout << n - 1 << " slow reads, " << named << " of them of records\n";
}

}  // namespace
}  // namespace dovetail
