// SPDX-License-Identifier: Apache-2.0
// Walk and store together: the records of a dataset in the order of its plan, within the budget.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>
#include <dovetail/tfrecord_export.h>
#include <dovetail/tfrecord_index.h>

#include "reader/fetch/run_store.h"
#include "reader/walk/live_runs.h"
#include "tests/plan/random_source.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/cases.h"

namespace dovetail::test {
namespace {

using detail::Entry;
using detail::RunStore;
using detail::SizedEntry;

/// Reads and fills a piece on this thread.
void load(RunStore& store, RunStore::Work work, detail::Storage& storage) {
  store.run(work, RunStore::Clock::now());
  if (!work.waits()) return;
  const Result<void> read = storage.read_again(work.file(), work.of().file_offset, detail::ReadInto{work.into});
  work.read = &read;
  store.run(work, RunStore::Clock::now());
}

/// Reads pieces ahead until it is told to end.
class Helper {
 public:
  Helper(RunStore& store, detail::Storage& storage)
      : thread_([this, &store, &storage] {
          while (!ended_) {
            if (auto work = store.claim()) {
              load(store, std::move(*work), storage);
            } else {
              std::this_thread::yield();
            }
          }
        }) {}
  ~Helper() {
    ended_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

struct RunStoreCase {
  SampleShape shape;
  PlanOptions options;
  std::uint64_t placed_bytes = UINT64_MAX;
  std::uint64_t begin = 0;
  std::uint64_t scattered_group = 1;
};

std::string bytes_of(const Entry& entry, std::uint32_t record_bytes) {
  return {reinterpret_cast<const char*>(detail::address_of(entry.where)), record_bytes};
}
std::string bytes_of(const SizedEntry& entry, std::uint32_t) {
  return {reinterpret_cast<const char*>(detail::address_of(entry.where)), entry.bytes};
}
constexpr bool is_placed(const Entry&) {
  return false;
}
bool is_placed(const SizedEntry& entry) {
  return !entry.in_memory();
}

template <class E>
void expect_lane(const Dataset& dataset, const RunStoreCase& drawn, std::uint64_t begin, bool helped,
                 RandomSource& random) {
  const std::uint32_t record_bytes = std::is_same_v<E, Entry> ? drawn.shape.max_bytes : 0;
  const EpochPlan epoch = Plan::make(dataset.shape(), drawn.options).value().epoch(1).value();
  const LaneOrder lane = epoch.lane(0);
  const auto storage = detail::make_pread_pool(2);
  detail::ShardTable shards(dataset, *storage, 100, [] {});
  detail::DamageLog damage(dataset);
  RunStore store({.rules = {.read_bytes = 1 << 16,
                            .placed_bytes = drawn.placed_bytes,
                            .record_bytes = record_bytes,
                            .scattered_group = drawn.scattered_group},
                  .budget = 64 << 20},
                 shards, *storage, damage);
  {
    const auto helper = helped ? std::make_unique<Helper>(store, *storage) : nullptr;  // still reads when the walk ends
    detail::LivePasses<E> passes(store, record_bytes);
    detail::LaneWalk<detail::LivePasses<E>> walk(detail::LaneLayout::of(lane), begin, passes);
    LaneCursor plan = lane.cursor(begin);
    std::vector<Pick> picks(1);
    const std::uint64_t end = random.chance(70) ? lane.records() : begin + random.below(lane.records() - begin + 1);
    while (walk.position() < end) {
      std::vector<E> rows(1 + random.below(std::min<std::uint64_t>(end - walk.position(), 100)));
      store.walk_to(walk.position() + rows.size());
      const auto part = walk.next(rows);
      store.walk_to(walk.position());
      if (part.rows == 0) {
        if (auto work = store.claim()) {
          load(store, std::move(*work), *storage);
        } else {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        continue;
      }
      for (std::size_t i = 0; i < part.rows; ++i) {
        plan.next(picks);
        const PlannedRecord wanted = plan.record(picks.front());
        ASSERT_EQ(rows[i].id, wanted.id);
        if (is_placed(rows[i])) continue;
        ASSERT_EQ(bytes_of(rows[i], record_bytes), sample_record(wanted.id, drawn.shape));
      }
      store.filled_to(walk.position());
    }
  }
  store.filled_to(UINT64_MAX);
  storage->stop();
}

// The first batch has to wait until all these reads are requested.
TEST(RunStoreTest, ReadsBoundedlyManyScatteredRecordsAheadOfSlowStorage) {
  constexpr std::uint64_t kRecords = 5000;
  constexpr std::uint64_t kGroup = 16;
  const SampleShape shape{.shard_records = {kRecords}, .max_bytes = 20};
  const TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), shape);
  const PlanOptions options{.batch = 8, .order = OrderKind::global};
  const LaneOrder lane = Plan::make(dataset.shape(), options).value().epoch(0).value().lane(0);
  // Where every read waits.
  const auto storage = detail::make_storage(StorageKind::io_uring_direct, 1).value();
  detail::ShardTable shards(dataset, *storage, 100, [] {});
  detail::DamageLog damage(dataset);
  RunStore store({.rules = {.read_bytes = 1 << 16, .placed_bytes = UINT64_MAX, .scattered_group = kGroup},
                  .budget = std::uint64_t{1} << 30},
                 shards, *storage, damage);
  std::uint64_t requested = 0;
  {
    detail::LivePasses<SizedEntry> passes(store, 0);
    detail::LaneWalk<detail::LivePasses<SizedEntry>> walk(detail::LaneLayout::of(lane), 0, passes);
    std::vector<SizedEntry> rows(1);
    ASSERT_EQ(walk.next(rows).rows, 0u);
    shards.want(0);
    while (shards.find(0) == nullptr) std::this_thread::yield();
    std::vector<RunStore::Work> waiting;
    while (store.has_work()) {
      auto work = store.claim();
      if (!work) continue;
      ASSERT_FALSE(store.run(*work, RunStore::Clock::now()).has_value());
      waiting.push_back(std::move(*work));
    }
    requested = waiting.size();
  }
  EXPECT_GE(requested, 4 * kGroup);
  EXPECT_LE(requested, kRecords / 4);
  storage->stop();
}

// If groups are read ahead and dropped again and again while a walk waits for the memory of rows,
// these rows are never filled.
TEST(RunStoreTest, ReadsNothingAheadWhileAWalkWaitsForTheMemoryOfRows) {
  const SampleShape shape{.shard_records = {300}, .max_bytes = 12'000, .codec = Codec::none, .run_records = 2};
  const TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), shape);
  for (const OrderKind order : {OrderKind::global, OrderKind::shuffle}) {
    SCOPED_TRACE(static_cast<int>(order));
    const PlanOptions options{.batch = 1, .order = order, .open_runs = 1, .pool = 1};
    const LaneOrder lane = Plan::make(dataset.shape(), options).value().epoch(0).value().lane(0);
    const auto storage = detail::make_storage(StorageKind::io_uring_direct, 1).value();  // where every read waits
    detail::ShardTable shards(dataset, *storage, 100, [] {});
    detail::DamageLog damage(dataset);
    RunStore store({.rules = {.read_bytes = 1 << 16, .placed_bytes = UINT64_MAX}, .budget = 80 << 10}, shards, *storage,
                   damage);
    std::uint64_t waits = 0;
    {
      detail::LivePasses<SizedEntry> passes(store, 0);
      detail::LaneWalk<detail::LivePasses<SizedEntry>> walk(detail::LaneLayout::of(lane), 0, passes);
      std::vector<SizedEntry> rows(1);
      std::uint64_t claims = 0;
      while (walk.position() < lane.records()) {
        store.walk_to(walk.position() + 1);
        const std::uint64_t before = store.changes();
        const std::uint64_t walked = walk.next(rows).rows;
        store.walk_to(walk.position());
        if (walked > 0) continue;
        shards.want(0);
        while (shards.find(0) == nullptr) std::this_thread::yield();
        while (auto work = store.claim()) {
          ASSERT_LT(++claims, 10 * lane.records());
          load(store, std::move(*work), *storage);
        }
        if (store.changes() != before) continue;
        ++waits;
        store.filled_to(walk.position());
      }
    }
    EXPECT_GT(waits, 10u);
    store.filled_to(UINT64_MAX);
    storage->stop();
  }
}

// One lane has read ahead a part of a run. The other one needs more memory than is free, and rows
// that are not filled yet will free it.
TEST(RunStoreTest, KeepsAndReadsOnWhatIsAheadWhileAWalkWaitsForTheMemoryOfRows) {
  const SampleShape shape{
      .shard_records = {96}, .min_bytes = 4000, .max_bytes = 4000, .codec = Codec::none, .run_records = 8};
  const TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), shape);
  const auto lane_of = [&](OrderKind order) {
    const PlanOptions options{.batch = 1, .order = order, .open_runs = 1};
    return detail::LaneLayout::of(Plan::make(dataset.shape(), options).value().epoch(0).value().lane(0));
  };
  const auto storage = detail::make_pread_pool(1);
  detail::ShardTable shards(dataset, *storage, 100, [] {});
  detail::DamageLog damage(dataset);
  // Two groups of 8 records of one lane, one group of 16 of the other, and half of its next group.
  RunStore store({.rules = {.read_bytes = 1, .placed_bytes = UINT64_MAX, .scattered_group = 16},
                  .budget = 2 * detail::BufferPool::rounded(8 * 4100) + 24 * detail::BufferPool::rounded(4100)},
                 shards, *storage, damage);
  const auto reads = [&] {
    ReaderStats stats;
    store.add_to(stats);
    return stats.reads;
  };
  const auto load_all = [&] {
    while (auto work = store.claim()) load(store, std::move(*work), *storage);
    return reads();
  };
  shards.want(0);
  while (shards.find(0) == nullptr) std::this_thread::yield();
  {
    detail::LivePasses<SizedEntry> passes(store, 0);
    detail::LaneWalk<detail::LivePasses<SizedEntry>> one(lane_of(OrderKind::sequential), 0, passes);
    detail::LaneWalk<detail::LivePasses<SizedEntry>> other(lane_of(OrderKind::global), 0, passes);
    std::vector<SizedEntry> rows(17);
    const std::span<SizedEntry> row = std::span(rows).first(1);
    store.walk_to(rows.size() + 1);
    ASSERT_EQ(one.next(row).rows, 0u);
    while (reads() < 8) load(store, store.claim().value(), *storage);
    ASSERT_EQ(one.next(row).rows, 1u);
    load(store, store.claim().value(), *storage);  // ahead
    ASSERT_EQ(other.next(rows).rows, 0u);
    while (reads() < 8 + 1 + 16) load(store, store.claim().value(), *storage);
    ASSERT_EQ(other.next(rows).rows, 16u);
    ASSERT_EQ(other.next(row).rows, 0u);
    store.walk_to(rows.size());
    EXPECT_EQ(load_all(), 8u + 8u + 16u + 8u);
    EXPECT_EQ(other.next(row).rows, 0u);
    store.filled_to(rows.size());
    EXPECT_EQ(load_all(), 8u + 8u + 16u + 16u + 8u);  // also half of a further group
    EXPECT_EQ(other.next(row).rows, 1u);
  }
  store.filled_to(UINT64_MAX);
  storage->stop();
}

TEST(RunStoreTest, AWalkGetsTheRecordsOfThePlan) {
  RandomSource random(51);
  const std::uint64_t count = Cases{.sanitized = 20, .some = 100, .all = 2000}.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    RunStoreCase drawn;
    const bool same_size = random.chance(50);
    for (std::uint64_t shards = 1 + random.below(6); shards > 0; --shards) {
      drawn.shape.shard_records.push_back(1 + random.below(500));
    }
    drawn.shape.max_bytes = 1 + static_cast<std::uint32_t>(random.below(300));
    drawn.shape.min_bytes = same_size ? drawn.shape.max_bytes : 0;
    drawn.shape.codec = random.chance(50) ? Codec::snappy : Codec::none;
    drawn.shape.run_records = 1 + random.below(60);
    drawn.options.seed = random.word();
    drawn.options.open_runs = 1 + static_cast<std::uint32_t>(random.below(20));
    drawn.options.pool = 1 + static_cast<std::uint32_t>(random.below(300));
    drawn.options.tail = Tail::pad;
    if (random.chance(30)) drawn.options.order = OrderKind::global;
    drawn.scattered_group = 1 + random.below(100);
    if (!same_size && random.chance(50)) drawn.placed_bytes = random.below(300);
    const TempFolder folder;
    Dataset dataset = make_sample(folder.path("data"), drawn.shape);
    if (random.chance(40)) {  // the same records as TFRecords with indexes
      ASSERT_TRUE(export_tfrecords(folder.path("records"), {.sources = {folder.path("data")}}).has_value());
      for (const auto& file : std::filesystem::directory_iterator(folder.path("records"))) {
        ASSERT_TRUE(index_tfrecord(file.path(), {.block_bytes = 1024, .run_bytes = 2048}).has_value());
      }
      dataset = Dataset::open(folder.path("records")).value();
    }
    const std::uint64_t begin = random.chance(50) ? 0 : random.below(dataset.shape()->shards.front().records);
    const bool helped = random.chance(50);
    SCOPED_TRACE(i);
    if (same_size) {
      expect_lane<Entry>(dataset, drawn, begin, helped, random);
    } else {
      expect_lane<SizedEntry>(dataset, drawn, begin, helped, random);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace dovetail::test
