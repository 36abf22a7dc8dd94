// SPDX-License-Identifier: Apache-2.0
// Readers whose storage does not answer some reads: these are logged, or what they were to read is
// damaged; and steps, rows and ids stay as planned.
#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reader/storage/thread_pool.h"
#include "reader/storage/watched_storage.h"
#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/gated_storage.h"

namespace dovetail::test {
namespace {

struct Way {
  std::string name;
  SampleShape shape;
};

/// Copied from runs, also where all have one size, and read straight into rows.
const Way kWays[] = {
    {"copied", {.shard_records = {60, 45, 70}, .max_bytes = 300, .block_bytes = 2048}},
    {"same_size",
     {.shard_records = {60, 45, 70}, .min_bytes = 512, .max_bytes = 512, .codec = Codec::none, .block_bytes = 4096}},
    {"placed",
     {.shard_records = {12, 9, 14}, .min_bytes = 20000, .max_bytes = 20000, .codec = Codec::none, .block_bytes = 4096}},
};

class HungReadsTest : public ::testing::TestWithParam<Way> {
 protected:
  HungReadsTest() : dataset_(make_sample(folder_.path("data"), GetParam().shape)), slow_(dataset_.shard_path(1)) {}

  static ReaderOptions options(OnDamage on_damage) {
    ReaderOptions options{.plan = {.batch = 4, .tail = Tail::pad, .open_runs = 4, .pool = 16},
                          .epochs = 1,
                          .on_damage = on_damage,
                          .decode_threads = 2,
                          .registration = Registration::off};
    options.hung_after = {};  // the watch is put around the gate below
    return options;
  }

  /// An engine on whose storage the reads of the second shard hang.
  std::unique_ptr<detail::RankReader> open(const ReaderOptions& options, std::chrono::milliseconds after,
                                           bool gives_up) {
    const auto wrap = [&](std::unique_ptr<detail::Storage> inner) -> std::unique_ptr<detail::Storage> {
      auto gate = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no,
                                                 [slow = slow_](const std::string& path) { return path == slow; });
      gate_ = gate.get();
      return detail::watch_storage(std::move(gate),
                                   {.after = after, .gives_up = gives_up, .log = {}, .executor = timers_.executor()});
    };
    return open_engine(dataset_, options, wrap).value();
  }

  TempFolder folder_;
  const Dataset dataset_;
  const std::string slow_;
  detail::ThreadPool timers_{1};
  GatedStorage* gate_ = nullptr;
};

TEST_P(HungReadsTest, WhatIsGivenUpIsDamagedAndKeepsStepsRowsAndIds) {
  for (const OnDamage policy : {OnDamage::substitute, OnDamage::empty}) {
    const std::unique_ptr<detail::RankReader> engine = open(options(policy), std::chrono::milliseconds(200), true);
    const auto lost = count_lost_rows(*engine, GetParam().shape).value();
    EXPECT_GT(lost, 0u);
    const ReaderStats stats = engine->stats();
    EXPECT_GT(stats.given_up_reads, 0u);
    EXPECT_EQ(stats.rows_substituted + stats.rows_damaged_empty, lost);
    std::uint64_t named = 0;
    for (const LostRange& range : stats.damaged) {
      EXPECT_EQ(range.file, slow_);
      EXPECT_THAT(range.reason, ContainsRegex("has hung|calls on this file hang"));
      named += range.end_record - range.first_record;
    }
    EXPECT_GE(named, lost);
  }
}

TEST_P(HungReadsTest, WithFailTheErrorNamesFileOffsetRecordsAndStep) {
  const std::unique_ptr<detail::RankReader> engine =
      open(options(OnDamage::fail), std::chrono::milliseconds(200), true);
  const Result<std::uint64_t> lost = count_lost_rows(*engine, GetParam().shape);
  ASSERT_FALSE(lost.has_value());
  const Error& error = lost.error();
  EXPECT_EQ(error.code(), boost::system::errc::timed_out) << error.to_string();
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.path(), slow_);
  EXPECT_TRUE(error.offset().has_value());
  EXPECT_THAT(error.detail(), HasSubstr("needed by rank 0 at step"));
}

TEST_P(HungReadsTest, AReaderThatWaitsTellsAndGoesOnWhenTheyComeBack) {
  const std::unique_ptr<detail::RankReader> engine =
      open(options(OnDamage::fail), std::chrono::milliseconds(20), false);
  gate_->wait_for_withheld(1);
  while (engine->stats().hung_now.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const HungRead hung = engine->stats().hung_now.front();
  EXPECT_EQ(hung.file, slow_);
  EXPECT_GT(hung.bytes, 0u);
  EXPECT_THAT(engine->stats().to_json(), HasSubstr("\"hung_now\": [{\"file\": \"" + slow_));
  gate_->let_go(GatedStorage::Open::for_ever);
  const auto lost = count_lost_rows(*engine, GetParam().shape).value();
  EXPECT_EQ(lost, 0u);
}

TEST_P(HungReadsTest, AReaderMayBeDestroyedWhileTheyHang) {
  std::unique_ptr<detail::RankReader> engine = open(options(OnDamage::empty), std::chrono::milliseconds(20), true);
  gate_->wait_for_withheld(1);
  engine.reset();
}

/// Calls `told` when the storage is stopped, which then waits for reads that hang.
class ToldStop final : public StorageInFront {
 public:
  ToldStop(std::unique_ptr<Storage> inner, std::function<void()> told)
      : StorageInFront(std::move(inner)), told_(std::move(told)) {}
  void stop() override {
    if (told_) std::exchange(told_, {})();
    StorageInFront::stop();
  }

 private:
  std::function<void()> told_;
};

TEST_P(HungReadsTest, StopEndsARequestBeforeItWaitsForReads) {
  std::promise<boost::system::error_code> ended;
  auto end = ended.get_future();
  bool in_time = false;
  GatedStorage* gate = nullptr;
  const auto wrap = [&](std::unique_ptr<detail::Storage> inner) -> std::unique_ptr<detail::Storage> {
    auto gated = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no,
                                                [](const std::string&) { return true; });
    gate = gated.get();
    return std::make_unique<ToldStop>(
        std::move(gated), [&] { in_time = end.wait_for(std::chrono::minutes(1)) == std::future_status::ready; });
  };
  const std::unique_ptr<detail::RankReader> engine = open_engine(dataset_, options(OnDamage::fail), wrap).value();
  gate->wait_for_withheld(1);
  async_next(*engine, [&](boost::system::error_code code, std::optional<Batch>) { ended.set_value(code); });
  engine->stop();
  EXPECT_TRUE(in_time) << "the request waits for reads that hang";
}

INSTANTIATE_TEST_SUITE_P(Ways, HungReadsTest, ::testing::ValuesIn(kWays),
                         [](const auto& way) { return way.param.name; });

TEST(HungReadOptionsTest, AreCheckedWhenAReaderIsOpened) {
  TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), kWays[0].shape);
  ReaderOptions options{.plan = {.batch = 4}, .registration = Registration::off};
  for (const std::int64_t hours : {-1, 25}) {
    options.hung_after = std::chrono::hours(hours);
    EXPECT_THAT(BatchReader::open(dataset, options), Fails(Errc::invalid_option).saying("hung_after"));
  }
  options.hung_after = {};
  options.on_hung_read = OnHungRead::fail;
  EXPECT_THAT(BatchReader::open(dataset, options), Fails().saying("on_hung_read"));
}

}  // namespace
}  // namespace dovetail::test
