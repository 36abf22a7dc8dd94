// SPDX-License-Identifier: Apache-2.0
// What a steady reader asks the allocator and storage for: something for each batch, each run and
// each extent, nothing for each record.
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/cached_reads.h"
#include "tests/support/gated_storage.h"
#include "tests/support/replaced_new.h"

namespace dovetail::test {
namespace {

class SteadyReadingTest : public FolderTest {
 protected:
  static constexpr std::uint64_t kRecords = 1 << 16;
  static constexpr std::uint64_t kRunRecords = 1024;

  SteadyReadingTest()
      : dataset_(make_sample(folder_.path("data"), {.shard_records = {kRecords},
                                                    .min_bytes = 8,
                                                    .max_bytes = 24,
                                                    .codec = Codec::none,
                                                    .block_bytes = 16384,
                                                    .run_records = kRunRecords})) {}

  struct Cost {
    std::uint64_t allocations = 0;
    std::uint64_t tries = 0;
    std::uint64_t reads = 0;  ///< As the reader counts them.
    std::uint64_t batches = 0;
  };
  /// What the second of two epochs costs.
  Cost second_epoch(std::uint32_t batch, std::uint32_t epochs = 2) {
    ReaderOptions options{.plan = {.batch = batch},
                          .epochs = epochs,
                          .storage = StorageKind::pread,
                          .decode_threads = 1,
                          .registration = Registration::off};
    GatedStorage* storage = nullptr;
    const std::unique_ptr<detail::RankReader> engine =
        open_engine(dataset_, options, [&](std::unique_ptr<detail::Storage> inner) {
          auto counting = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::yes);
          storage = counting.get();
          return counting;
        }).value();
    while (engine->next().value().has_value()) {
    }
    Cost cost;
    cost.allocations = test::allocations();
    cost.tries = storage->counts().tries;
    cost.reads = engine->stats().reads;
    while (engine->next().value().has_value()) ++cost.batches;
    cost.allocations = test::allocations() - cost.allocations;
    cost.tries = storage->counts().tries - cost.tries;
    cost.reads = engine->stats().reads - cost.reads;
    return cost;
  }

  Dataset dataset_;
};

TEST_F(SteadyReadingTest, AllocatesForBatchesAndRunsAndNeverForRecords) {
  constexpr std::uint64_t kRuns = kRecords / kRunRecords;
  const Cost small = second_epoch(64);
  const Cost large = second_epoch(1024);
  ASSERT_EQ(small.batches, 1024u);
  ASSERT_EQ(large.batches, 64u);
  RecordProperty("allocations_of_1024_batches", std::to_string(small.allocations));
  RecordProperty("allocations_of_64_batches", std::to_string(large.allocations));
  // The same runs and extents, 960 batches more. A run takes an entry, its file, its extents; an
  // extent its load.
  EXPECT_LE(large.allocations, 3 * large.batches + 4 * kRuns + 128);
  EXPECT_LE(small.allocations, 3 * small.batches + 4 * kRuns + 128);
  EXPECT_LT(large.allocations, kRecords / 64);
}

TEST_F(SteadyReadingTest, AsksStorageOnceForEachExtentAndNeverForARecord) {
  if (!can_read_without_waiting(dataset_.shard_path(0))) GTEST_SKIP() << "no reads of the page cache alone here";
  const Cost cost = second_epoch(256);
  EXPECT_EQ(cost.tries, cost.reads);
  // A block has some 16 KiB, so an epoch of 1 MiB takes some 64 extents; planning ahead moves a few
  // between epochs.
  EXPECT_LE(cost.tries, 2 * kRecords / kRunRecords);
}

}  // namespace
}  // namespace dovetail::test
