// SPDX-License-Identifier: Apache-2.0
// What a reader takes of memory at its peak, as the system counts it, against what
// docs/performance.md says.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>

#include "format/layout.h"
#include "format/messages.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/soak/footprint.h"
#include "tests/soak/peak_memory.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// docs/performance.md, "Memory".
std::uint64_t documented_bound(const Dataset& dataset, const ReaderOptions& options) {
  return options.memory_bytes + 12 * kMiB + dataset.shards().size() * 500;
}

struct Reading {
  std::uint64_t memory_bytes;
  std::uint32_t batch;
  unsigned threads;
  StorageKind storage = StorageKind::pread;
  OrderKind order = OrderKind::shuffle;
  std::uint32_t open_runs = 96;
};

/// Budgets, batches, threads, storages and orders, each at least once with a small and a large
/// neighbour.
const std::vector<Reading> kReadings{{8 * kMiB, 1, 1, StorageKind::pread, OrderKind::shuffle, 8},
                                     {8 * kMiB, 64, 2, StorageKind::pread, OrderKind::shuffle, 8},
                                     {16 * kMiB, 64, 8, StorageKind::pread, OrderKind::shuffle, 16},
                                     {64 * kMiB, 64, 2},
                                     {64 * kMiB, 1024, 2},
                                     {256 * kMiB, 64, 2},
                                     {32 * kMiB, 64, 2, StorageKind::io_uring_direct},
                                     {16 * kMiB, 64, 2, StorageKind::pread, OrderKind::sequential},
                                     {16 * kMiB, 64, 2, StorageKind::pread, OrderKind::global},
                                     {64 * kMiB, 64, 2, StorageKind::pread, OrderKind::shuffle, 4096}};

class ReaderMemoryTest : public FolderTest {
 protected:
  void SetUp() override {
    if (!can_measure_peaks()) GTEST_SKIP() << "peaks cannot be measured here";
#if defined(DOVETAIL_EMULATOR)
    GTEST_SKIP() << "what an emulator takes for itself counts in, and is more than the smallest budgets";
#endif
  }

  /// Reads an epoch each way and compares the peak with the bound.
  void expect_bounded(const std::string& name, const Dataset& dataset, bool any_order = true) {
    int read = 0;
    for (const Reading& reading : kReadings) {
      if (reading.order == OrderKind::global && !any_order) continue;
      ReaderOptions options{
          .plan = {.batch = reading.batch, .order = reading.order, .tail = Tail::pad, .open_runs = reading.open_runs},
          .epochs = 1,
          .memory_bytes = reading.memory_bytes,
          .storage = reading.storage,
          .decode_threads = reading.threads};
      const Told told = peak_of([&](PeakMeter&) {
        Result<BatchReader> reader = BatchReader::open(dataset, options);
        if (!reader) {
          const bool known = reader.error().is(Errc::budget_too_small) || reader.error().is(Errc::resource_limit);
          return known ? std::string("refused") : reader.error().to_string();
        }
        std::uint64_t rows = 0;
        for (;;) {
          const Result<std::optional<Batch>> batch = reader->next();
          if (!batch && batch.error().is(Errc::batch_too_large)) return std::string("refused");
          if (!batch) return batch.error().to_string();
          if (!*batch) return std::to_string(rows);
          rows += (*batch)->valid();
        }
      });
      ASSERT_TRUE(told.ended) << told.note;
      const std::uint64_t bound = documented_bound(dataset, options);
      std::printf("%-12s budget %3llu MiB, batch %4u, %u threads, %s: peak %.1f MiB, %.0f %% of the bound; %s\n",
                  name.c_str(), static_cast<unsigned long long>(reading.memory_bytes / kMiB), reading.batch,
                  reading.threads, std::string(to_string(reading.storage)).c_str(),
                  static_cast<double>(told.peak) / kMiB,
                  100 * static_cast<double>(told.peak) / static_cast<double>(bound), told.note.c_str());
      EXPECT_LE(static_cast<std::uint64_t>(told.peak), bound);
      if (told.note == "refused") continue;
      EXPECT_EQ(told.note, std::to_string(dataset.records()));
      ++read;
    }
    EXPECT_GE(read, 3) << "several ways of reading are possible";
  }
};

TEST_F(ReaderMemoryTest, OfRecordsOfOneSize) {
  expect_bounded("one size", make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(16, 1500),
                                                                .min_bytes = 1024,
                                                                .max_bytes = 1024,
                                                                .codec = Codec::none,
                                                                .block_bytes = 64 << 10,
                                                                .run_records = 256}));
}

TEST_F(ReaderMemoryTest, OfImages) {
  expect_bounded("images", make_sample(folder_.path("data"), {.shard_records = {200, 150, 150},
                                                              .min_bytes = 16 << 10,
                                                              .max_bytes = 48 << 10,
                                                              .codec = Codec::none,
                                                              .block_bytes = 64 << 10}));
}

TEST_F(ReaderMemoryTest, OfCompressedRecords) {
  expect_bounded("compressed", make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(8, 800),
                                                                  .max_bytes = 4000,
                                                                  .block_bytes = 64 << 10,
                                                                  .run_records = 256}));
}

TEST_F(ReaderMemoryTest, OfLargeBlocks) {
  expect_bounded(
      "large blocks",
      make_sample(folder_.path("data"),
                  {.shard_records = {800, 800}, .max_bytes = 3000, .block_bytes = 1 << 20, .run_records = 700}));
}

TEST_F(ReaderMemoryTest, OfLargeBlocksThatAreReadForSingleRowsOfManySlots) {
  const Dataset dataset = make_sample(folder_.path("data"), {.shard_records = {1200},
                                                             .min_bytes = 32'000,
                                                             .max_bytes = 32'000,
                                                             .codec = Codec::none,
                                                             .block_bytes = 4 << 20,
                                                             .run_records = 125});
  for (const StorageKind storage : {StorageKind::pread, StorageKind::io_uring_direct}) {
    ReaderOptions options{.plan = {.batch = 2, .order = OrderKind::global}, .epochs = 1, .prefetch = 30};
    options.memory_bytes = 64 * kMiB;
    options.storage = storage;
    options.decode_threads = 2;
    const Told told = peak_of([&](PeakMeter&) {
      Result<BatchReader> reader = BatchReader::open(dataset, options);
      if (!reader && reader.error().is(Errc::resource_limit)) return std::string("read");  // no io_uring here
      for (int step = 0; step < 100; ++step) {
        if (const Result<std::optional<Batch>> batch = reader.value().next(); !batch) return batch.error().to_string();
      }
      return std::string("read");
    });
    ASSERT_TRUE(told.ended && told.note == "read") << told.note;
    EXPECT_LE(static_cast<std::uint64_t>(told.peak), documented_bound(dataset, options)) << to_string(storage);
  }
}

TEST_F(ReaderMemoryTest, OfTinyRecords) {
  expect_bounded("tiny", make_sample(folder_.path("data"), {.shard_records = {40'000, 40'000},
                                                            .min_bytes = 8,
                                                            .max_bytes = 40,
                                                            .codec = Codec::none,
                                                            .block_bytes = 64 << 10,
                                                            .run_records = 4096}));
}

TEST_F(ReaderMemoryTest, OfManyTinyShards) {
  expect_bounded("many shards",
                 make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(2000, 3)}));
}

TEST_F(ReaderMemoryTest, OfAManifestIsSomeHundredBytesAShard) {
  constexpr std::uint32_t kShards = 1'000'000;
  const std::vector<ShardInfo> one = write_dataset(folder_.path(), 1, 3);
  std::vector<ShardInfo> many(kShards, one.front());
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    many[shard].name = std::to_string(shard);
    many[shard].file_id = one.front().file_id + shard;
  }
  write_manifest(folder_.path("manifest.dvt"), many);
  many = {};
  const Told told = peak_of([&](PeakMeter&) {
    const Result<Dataset> dataset = Dataset::open(folder_.path());
    return dataset ? std::to_string(dataset->shards().size()) : dataset.error().to_string();
  });
  ASSERT_TRUE(told.ended) << told.note;
  EXPECT_EQ(told.note, std::to_string(kShards));
  std::printf("a manifest of a million shards: peak %.1f MiB\n", static_cast<double>(told.peak) / kMiB);
  EXPECT_LE(told.peak, 500 * std::int64_t{kShards});
}

// As from an attacker: names that compress well, in a manifest that says the rest of them in few
// bytes.
TEST_F(ReaderMemoryTest, OfAManifestIsThatAndItsNames) {
  constexpr std::uint32_t kShards = 20'000;
  const ShardInfo one = write_dataset(folder_.path(), 1, 3).front();
  const auto open_with_names_of = [&](std::size_t bytes) {
    ShardSpec manifest{.codec = Codec::snappy,
                       .run_records = kShards,
                       .block_records = 3,
                       .shard_number = format::kManifestShardNumber,
                       .metadata = {format::kManifestRecordType, "sample", {}}};
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      ShardInfo info = one;
      info.name = std::to_string(shard);
      info.name.resize(bytes, 'x');
      info.file_id += shard;
      manifest.records.push_back(format::encode(info));
    }
    write_file(folder_.path("manifest.dvt"), as_chars(make_shard(manifest).bytes));
    manifest = {};
    const Told told = peak_of([&](PeakMeter&) {
      const Result<Dataset> dataset = Dataset::open(folder_.path());
      return dataset ? std::to_string(dataset->shards().size()) : dataset.error().to_string();
    });
    EXPECT_TRUE(told.ended) << told.note;
    std::printf("names of %zu bytes: peak %.1f MiB\n", bytes, static_cast<double>(told.peak) / kMiB);
    return told;
  };
  const Told longest = open_with_names_of(format::kMaxShardNameBytes);
  EXPECT_EQ(longest.note, std::to_string(kShards));
  EXPECT_LE(longest.peak, kShards * std::int64_t{500 + format::kMaxShardNameBytes});
  const Told too_long = open_with_names_of(16 * 1024);
  EXPECT_NE(too_long.note.find("longer than 4096 bytes"), std::string::npos) << too_long.note;
  EXPECT_LE(too_long.peak, std::int64_t{4 * kMiB});
}

// As from an attacker: whole files to 2^24 lanes, of which a dataset of five shards can fill five.
TEST_F(ReaderMemoryTest, OfAStateIsThatOfTheDatasetWhateverLanesItNames) {
  const Dataset dataset = make_sample(folder_.path("data"), {.shard_records = {30, 7, 11, 50, 3}});
  PlanOptions options{.world = 2, .batch = 4, .assign = Assign::files, .tail = Tail::pad};
  State state = Plan::make(dataset.shape(), options).value().state({0, 0}).value();
  const State::Phase many{.steps = 1, .lanes = 1u << 24, .rows_per_lane = 1};
  state.phases = {many, many, many, {.steps = 1, .lanes = 2, .rows_per_lane = 4}};
  const Told told = peak_of([&](PeakMeter&) {
    const Result<Plan> plan = Plan::resume(dataset.shape(), options, state);
    if (!plan) return plan.error().to_string();
    const Result<EpochPlan> epoch = plan->epoch(0);
    return epoch ? std::string("planned") : epoch.error().to_string();
  });
  ASSERT_TRUE(told.ended) << told.note;
  std::printf("a state of 2^24 lanes: peak %.1f MiB; %s\n", static_cast<double>(told.peak) / kMiB, told.note.c_str());
  EXPECT_LE(told.peak, 4 << 20);
}

TEST_F(ReaderMemoryTest, DescriptorsStayAtHalfOfTheLimit) {
  const Dataset dataset = make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(1000, 3)});
  for (const rlim_t limit : {128U, 256U, 512U}) {
    const Told told = peak_of([&](PeakMeter&) {
      const rlimit few{.rlim_cur = limit, .rlim_max = limit};
      if (::setrlimit(RLIMIT_NOFILE, &few) != 0) throw std::runtime_error("the limit cannot be set");
      const std::int64_t before = Footprint::now().descriptors;
      ReaderOptions options{.plan = {.batch = 16, .open_runs = static_cast<std::uint32_t>(limit / 4)}};
      options.plan.pool = 16;  // a record in it keeps its shard open
      options.plan.tail = Tail::pad;
      options.epochs = 1;
      BatchReader reader = BatchReader::open(dataset, options).value();
      std::int64_t most = 0;
      std::uint64_t rows = 0;
      for (const Batch& batch : reader.epoch()) {
        rows += batch.valid();
        most = std::max(most, Footprint::now().descriptors - before);
      }
      return std::to_string(rows) + " " + std::to_string(most);
    });
    ASSERT_TRUE(told.ended) << told.note;
    std::printf("limit of %llu descriptors, rows and most of the reader's: %s\n",
                static_cast<unsigned long long>(limit), told.note.c_str());
    EXPECT_EQ(told.note.substr(0, told.note.find(' ')), "3000");
    EXPECT_LE(std::stoull(told.note.substr(told.note.find(' '))), limit / 2 + 16 + 2)
        << "beyond half what one step needs, and two of looking at them";
  }
}

}  // namespace
}  // namespace dovetail::test
