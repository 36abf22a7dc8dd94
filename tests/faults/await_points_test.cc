// SPDX-License-Identifier: Apache-2.0
// A reader that is cancelled, stopped or destroyed at the n-th thing that happens inside it, for
// every n until a run passes untouched; and one whose n-th read is slow.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>

#include "tests/faults/call_events.h"
#include "tests/reader/delivery/interrupted_trainer.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

/// How rows come to be: copied from runs, also where all have one size, or read straight into their
/// rows.
const std::array<SampleShape, 3> kShapes{{
    {.shard_records = {60, 0, 45}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048},
    {.shard_records = {60, 0, 45}, .min_bytes = 300, .max_bytes = 300, .codec = Codec::none, .block_bytes = 2048},
    {.shard_records = {9, 8}, .min_bytes = 60'000, .max_bytes = 70'000, .codec = Codec::none, .run_records = 2},
}};

ReaderOptions options_of(StorageKind storage) {
  return {.plan = {.batch = 8, .tail = Tail::pad, .open_runs = 4, .pool = 16},
          .epochs = 1,
          .storage = storage,
          .decode_threads = 2,
          .registration = Registration::off};
}

using Trainer = InterruptedTrainer<BatchReader, Batch, AtEvent>;

class AwaitPointsTest : public ::testing::TestWithParam<std::tuple<StorageKind, std::size_t>> {
 protected:
  AwaitPointsTest() : dataset_(make_sample(folder_.path("data"), shape())) {}
  void SetUp() override {
    const auto reader = BatchReader::open(dataset_, options_of(storage()));
    if (!reader) GTEST_SKIP() << reader.error().to_string();
  }

  Trainer::Ways ways() const {
    return {.open = [this] { return BatchReader::open(dataset_, options_of(storage())).value(); },
            .append = [](Batch& batch, Rows& rows) { append_checked(batch, shape(), rows); }};
  }
  static StorageKind storage() { return std::get<0>(GetParam()); }
  static const SampleShape& shape() { return kShapes.at(std::get<1>(GetParam())); }

  TempFolder folder_;
  Dataset dataset_;
};

TEST_P(AwaitPointsTest, AHandlerRunsOnceWhateverHappensWhenever) {
  for (const Act act : kActs) {
    std::uint64_t n = 1;
    for (bool struck = true; struck && !HasFailure(); ++n) {
      SCOPED_TRACE(::testing::Message() << act << " at event " << n);
      struck = Trainer(ways(), act).run_until_event(n);
    }
    EXPECT_GT(n, 20u);
    std::cout << act << ": " << n - 2 << " events\n";
  }
}

TEST_P(AwaitPointsTest, AReadThatIsSlowChangesNothing) {
  constexpr std::chrono::milliseconds kSlow{5};
  std::uint64_t n = 1;
  for (bool struck = true; struck && !HasFailure(); n += kSanitized ? 7 : 1) {
    SCOPED_TRACE(::testing::Message() << "event " << n);
    AtEvent event(n, [&](auto&&...) { std::this_thread::sleep_for(kSlow); });
    BatchReader reader = BatchReader::open(dataset_, options_of(storage())).value();
    EXPECT_EQ(read_epoch(reader, shape()), planned(reader.plan(), 0, 0));
    struck = event.disarm();
  }
  EXPECT_GT(n, 20u);
  std::cout << n - 2 << " events\n";
}

const auto kStorages = ::testing::Values(StorageKind::pread, StorageKind::io_uring_direct);
const auto kNameOf = [](const auto& tested) {
  const std::array<const char*, 3> kWays{"copied", "same_size", "straight"};
  return std::string(to_string(std::get<0>(tested.param))) + "_" + kWays.at(std::get<1>(tested.param));
};
INSTANTIATE_TEST_SUITE_P(Storages, AwaitPointsTest,
                         ::testing::Combine(kStorages, ::testing::Range<std::size_t>(0, kShapes.size())), kNameOf);

TEST(SlowReadTest, TheStatsNameTheShard) {
  TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), kShapes[0]);
  unsigned named = 0;
  std::uint64_t n = 1;
  for (bool struck = true; struck && !::testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(::testing::Message() << "read " << n);
    const std::chrono::milliseconds slow(n % 8 == 0 ? 200 : 20);
    std::string path;
    bool opens_shard = false;  // such a read is not one of records
    AtEvent event(
        n,
        [&](int file, std::int64_t offset) {
          opens_shard = offset == 0;
          path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
          std::this_thread::sleep_for(slow);
        },
        AtEvent::Counted::only_reads);
    BatchReader reader = BatchReader::open(dataset, options_of(StorageKind::pread)).value();
    EXPECT_EQ(read_epoch(reader, kShapes[0]), planned(reader.plan(), 0, 0));
    struck = event.disarm();
    if (!struck) break;
    bool found = false;
    for (const ShardReads& shard : reader.stats().slowest_shards) {
      found = found || (std::filesystem::equivalent(shard.file, path) && shard.longest >= slow);
    }
    EXPECT_TRUE(found || opens_shard);
    named += found ? 1 : 0;
  }
  EXPECT_GT(named, 0u);
  std::cout << n - 1 << " slow reads, " << named << " of them of records\n";
}

}  // namespace
}  // namespace dovetail::test
