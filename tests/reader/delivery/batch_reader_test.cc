// SPDX-License-Identifier: Apache-2.0
#include <dovetail/batch_reader.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class BatchReaderTest : public SampleReaderTest {};

TEST_F(BatchReaderTest, DeliversExactlyWhatThePlanSaysForEveryOrderAssignmentAndTail) {
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential}) {
    for (const Assign assign : {Assign::even, Assign::files, Assign::runs}) {
      if (assign == Assign::runs && order != OrderKind::shuffle) continue;
      for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
        for (const std::uint32_t world : {1u, 2u, 3u}) {
          if (assign == Assign::files && (tail != Tail::pad && world > 1)) continue;  // one lane may have no record
          for (std::uint32_t rank = 0; rank < world; ++rank) {
            SCOPED_TRACE(::testing::Message() << "order " << int(order) << " assign " << int(assign) << " tail "
                                              << int(tail) << " rank " << rank << " of " << world);
            ReaderOptions options = this->options(rank, world, 17);
            options.plan.order = order;
            options.plan.assign = assign;
            options.plan.tail = tail;
            BatchReader reader = BatchReader::open(dataset(), options).value();
            const Rows rows = read_epoch(reader, kSampleShape);
            ASSERT_EQ(rows, planned(reader.plan(), rank, 0));
            ASSERT_EQ(rows.size(), reader.steps(0).value() * 17);
          }
        }
      }
    }
  }
}

TEST_F(BatchReaderTest, RowsAreARangeAlsoOfADatasetByItsPath) {
  static_assert(std::ranges::forward_range<Batch>);
  ReaderOptions options = this->options(0, 1, 17);
  options.plan.tail = Tail::pad;
  BatchReader reader = BatchReader::open(dataset().path(), options).value();
  std::uint64_t batches = 0;
  for (Batch& batch : reader.epoch()) {
    std::uint32_t row = 0;
    for (const ByteView bytes : batch) {
      EXPECT_EQ(bytes.data(), batch.row(row).data());
      EXPECT_EQ(as_chars(bytes), batch.text(row++));
    }
    EXPECT_EQ(row, 17u) << "those without a record, too";
    EXPECT_EQ(std::ranges::distance(batch), 17);
    batch.release();
    EXPECT_EQ(batch.begin(), batch.end());
    ++batches;
  }
  EXPECT_EQ(batches, reader.steps(0).value());
  EXPECT_FALSE(BatchReader::open(dataset().path() + "/none", options).has_value());
}

TEST_F(BatchReaderTest, WrapsSeveralTimesAroundALaneThatIsShorterThanABatch) {
  ReaderOptions options = this->options(1, 2, 2000);
  options.plan.tail = Tail::wrap;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  const Rows rows = read_epoch(reader, kSampleShape);
  EXPECT_EQ(rows, planned(reader.plan(), 1, 0));
  EXPECT_EQ(reader.stats().rows_first, 516u);
  EXPECT_EQ(reader.stats().rows_repeated, 2000u - 516u);
}

TEST_F(BatchReaderTest, PadsBatchesThatMayBeAllEmpty) {
  ReaderOptions options = this->options(0, 2, 600);
  options.plan.tail = Tail::pad;
  options.plan.assign = Assign::files;
  options.plan.lanes = 8;  // more lanes than shards: some have nothing
  BatchReader reader = BatchReader::open(dataset(), options).value();
  EXPECT_EQ(read_epoch(reader, kSampleShape), planned(reader.plan(), 0, 0));
}

TEST(BatchReaderBudgetTest, BlocksThatExpandManyTimesFitASmallBudgetToo) {
  TempFolder folder;
  DatasetWriterOptions writing{.shard = {.run_records = 128}};
  DatasetWriter writer = DatasetWriter::create(folder.path("data"), writing).value();
  const std::string zeros(512, '\0');
  for (int i = 0; i < 16384; ++i) writer.append(as_bytes(zeros)).value();
  writer.finish().value();
  ReaderOptions options{.plan = {.batch = 16, .open_runs = 2, .pool = 64}, .epochs = 1, .memory_bytes = 1 << 20};
  BatchReader reader = BatchReader::open(Dataset::open(folder.path("data")).value(), options).value();
  std::uint64_t rows = 0;
  for (const Batch& batch : reader.epoch()) rows += batch.valid();
  EXPECT_EQ(rows, 16384u);
  EXPECT_LE(reader.stats().read_ahead_peak + reader.stats().slots * reader.stats().slot_bytes, options.memory_bytes);
}

TEST(BatchReaderBudgetTest, LargeBlocksFitBesideTheSlots) {
  TempFolder folder;
  DatasetWriterOptions writing{.shard = {.block_bytes = 4 << 20, .run_records = 1 << 12}};
  DatasetWriter writer = DatasetWriter::create(folder.path("data"), writing).value();
  std::mt19937_64 random(1);
  std::string record(1024, '\0');  // of which a quarter can be compressed: stored and decoded blocks are both large
  for (int i = 0; i < 16384; ++i) {
    std::generate_n(record.begin(), 768, [&] { return static_cast<char>(random()); });
    writer.append(as_bytes(record)).value();
  }
  writer.finish().value();
  for (const std::uint64_t mebibytes : {14u, 15u, 16u, 24u, 48u, 128u}) {
    SCOPED_TRACE(std::to_string(mebibytes) + " MiB");
    ReaderOptions options{
        .plan = {.batch = 16, .order = OrderKind::sequential}, .epochs = 1, .memory_bytes = mebibytes << 20};
    BatchReader reader = BatchReader::open(Dataset::open(folder.path("data")).value(), options).value();
    std::uint64_t rows = 0;
    for (const Batch& batch : reader.epoch()) rows += batch.valid();
    EXPECT_EQ(rows, 16384u);
  }
}

TEST_F(BatchReaderTest, EndsEveryEpochWithAnEmptyResultAndGoesOn) {
  ReaderOptions options = this->options(0, 1, 100);
  options.epochs = 3;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    std::uint64_t step = 0;
    while (std::optional<Batch> batch = reader.next().value()) {
      EXPECT_EQ(batch->epoch(), epoch);
      EXPECT_EQ(batch->step(), step);
      EXPECT_EQ(batch->position_after(), (Position{epoch, step + 1}));
      ++step;
    }
    EXPECT_EQ(step, reader.steps(epoch).value());
  }
  EXPECT_FALSE(reader.next().value().has_value());
  EXPECT_FALSE(reader.next().value().has_value());
}

TEST_F(BatchReaderTest, ReplicasReadTheSameRows) {
  std::vector<Rows> rows;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ReaderOptions options = this->options(rank, 4, 8);
    options.plan.replicate = 2;
    BatchReader reader = BatchReader::open(dataset(), options).value();
    rows.push_back(read_epoch(reader, kSampleShape));
  }
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_EQ(rows[2], rows[3]);
  EXPECT_NE(rows[0], rows[2]);
}

TEST_F(BatchReaderTest, PartsOfTheSlabAreAlignedAndOneRegion) {
  BatchReader reader = BatchReader::open(dataset(), options(0, 1, 7)).value();
  const std::optional<Batch> batch = reader.next().value();
  ASSERT_TRUE(batch.has_value());
  const SlabLayout layout = batch->layout();
  for (const std::size_t part : {layout.offsets, layout.ids, layout.status, layout.values}) EXPECT_EQ(part % 256, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch->slab().data()) % 256, 0u);
  EXPECT_EQ(batch->slab().data() + layout.values, batch->values().data());
  EXPECT_EQ(batch->slab().size(), layout.values + batch->values().size());
  EXPECT_EQ(batch->offsets().front(), 0);
  EXPECT_EQ(batch->registered(), reader.registered());
  EXPECT_EQ(batch->valid(), 7u);
}

TEST_F(BatchReaderTest, HoldingEverySlotIsAnErrorThatReleasingMends) {
  ReaderOptions options = this->options(0, 1, 8);
  options.max_held = 2;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  std::optional<Batch> first = reader.next().value();
  std::optional<Batch> second = reader.next().value();
  const Result<std::optional<Batch>> third = reader.next();
  ASSERT_THAT(third, Fails(Errc::slots_held).saying("release one, or copy what you keep"));
  const std::string state = first->state().to_text();
  first->release();
  EXPECT_EQ(first->state().to_text(), state);
  EXPECT_EQ(reader.next().value()->step(), 2u);
}

TEST_F(BatchReaderTest, WhatWasMovedFromIsClosed) {
  BatchReader reader = BatchReader::open(dataset(), options(0, 1, 8)).value();
  BatchReader moved = std::move(reader);
  EXPECT_EQ(moved.next().value()->step(), 0u);
  EXPECT_THAT(reader.next(), Fails(Errc::closed));  // NOLINT(bugprone-use-after-move)
  EXPECT_THAT(reader.next(std::chrono::milliseconds(1)), Fails(Errc::closed));
  EXPECT_TRUE(reader.error()->is(Errc::closed));
  // Not `use_future`: the thread that sets an exception may be the last to drop it, and TSan does
  // not see libstdc++ count.
  std::promise<boost::system::error_code> outcome;
  reader.async_next([&](boost::system::error_code error, std::optional<Batch> batch) {
    EXPECT_FALSE(batch.has_value());
    outcome.set_value(error);
  });
  EXPECT_EQ(outcome.get_future().get(), make_error_code(Errc::closed));
  reader.stop();
}

TEST_F(BatchReaderTest, PatienceIsNotNeededForWhatIsReady) {
  BatchReader reader = BatchReader::open(dataset(), options(0, 1, 8)).value();
  Rows rows;
  while (const std::optional<Batch> batch = reader.next(std::chrono::milliseconds::max()).value()) {
    append_checked(*batch, kSampleShape, rows);
  }
  EXPECT_EQ(rows, planned(reader.plan(), 0, 0));
  reader.stop();
  EXPECT_THAT(reader.next(std::chrono::hours(1)), Fails(ErrorKind::cancelled));
}

TEST_F(BatchReaderTest, StatsAddUpToTheLifeOfTheReader) {
  BatchReader reader = BatchReader::open(dataset(), options(0, 1, 16)).value();
  const Rows rows = read_epoch(reader, kSampleShape);
  const ReaderStats stats = reader.stats();
  EXPECT_EQ(stats.rows, rows.size());
  EXPECT_EQ(stats.rows_first, rows.size());
  EXPECT_EQ(stats.batches, reader.steps(0).value());
  EXPECT_GT(stats.reads, 0u);
  EXPECT_EQ(stats.shards_opened, 5u);  // the empty one is never opened
  EXPECT_EQ(stats.registered, reader.registered());
  EXPECT_EQ(stats.registered, stats.registration_note.empty());
  const auto sum = stats.waiting_for_storage + stats.waiting_for_decode + stats.waiting_for_slot +
                   stats.waiting_for_consumer + stats.filling;
  EXPECT_GE(sum, stats.since_first_request);
  EXPECT_NE(stats.to_json().find("\"rows_first\": " + std::to_string(rows.size())), std::string::npos);
}

TEST_F(BatchReaderTest, ReadsEachBlockOnceWhenMemoryIsAmple) {
  ReaderOptions options = this->options(0, 1, 16);
  options.plan.tail = Tail::pad;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  read_epoch(reader, kSampleShape);
  std::uint64_t stored = 0;
  for (const ShardInfo& shard : dataset().shards()) stored += shard.stored_bytes + shard.blocks * 64;
  EXPECT_GE(reader.stats().read_bytes, stored);
  EXPECT_LE(reader.stats().read_bytes, stored + 64 * reader.stats().reads * 64);  // and padding between blocks
  EXPECT_EQ(reader.stats().retried_reads, 0u);
}

TEST_F(BatchReaderTest, RefusesOptionsThatCannotWork) {
  const auto code = [&](auto change) {
    ReaderOptions options = this->options(0, 2, 8);
    change(options);
    Result<BatchReader> reader = BatchReader::open(dataset(), options);
    return reader.has_value() ? boost::system::error_code() : reader.error().code();
  };
  EXPECT_EQ(code([](ReaderOptions& o) { o.ranks.rank = 2; }), Errc::invalid_option);
  EXPECT_EQ(code([](ReaderOptions& o) { o.plan.world = 3; }), Errc::invalid_option);
  EXPECT_EQ(code([](ReaderOptions& o) { o.prefetch = 0; }), Errc::invalid_option);
  EXPECT_EQ(code([](ReaderOptions& o) { o.max_held = 65; }), Errc::invalid_option);
  EXPECT_EQ(code([](ReaderOptions& o) { o.start.step = 1000000; }), Errc::invalid_option);
  EXPECT_EQ(code([](ReaderOptions& o) { o.plan.batch = 4000; }), Errc::no_steps);
  EXPECT_EQ(code([](ReaderOptions& o) { o.memory_bytes = 1000; }), Errc::budget_too_small);
  EXPECT_EQ(code([](ReaderOptions& o) { o.plan.lanes = 3; }), Errc::invalid_option);
}

TEST(BatchReaderBudgetTest, ABudgetThatIsNotGivenHasRoomForTwiceTheMeanBatch) {
  TempFolder folder;
  const Dataset dataset = make_sample(folder.path("data"), {.shard_records = {500}, .max_bytes = 300'000});
  const auto stats_of = [&](std::uint32_t rows) {
    const ReaderOptions options{.plan = {.batch = rows}, .epochs = 1};
    return BatchReader::open(dataset, options)->stats();
  };
  EXPECT_EQ(stats_of(10).budget_bytes, 256u << 20);
  const ReaderStats stats = stats_of(400);
  const std::uint64_t mean = dataset.raw_bytes() / dataset.records();
  EXPECT_GE(stats.slot_bytes, 400 * std::min<std::uint64_t>(2 * mean, dataset.shards()[0].max_record_bytes));
  EXPECT_GE(stats.budget_bytes, 2 * stats.slots * stats.slot_bytes);
  EXPECT_LE(stats.budget_bytes, 3 * stats.slots * stats.slot_bytes);
}

TEST(BatchReaderBudgetTest, ABudgetThatIsNotGivenHasRoomForTheOpenRunsAndThePool) {
  TempFolder folder;
  // Large blocks, so that the records go through memory.
  const Dataset dataset =
      make_sample(folder.path("data"), {.shard_records = {500}, .max_bytes = 300'000, .block_bytes = 4 << 20});
  std::string logged;
  ReaderOptions options{.plan = {.batch = 10, .pool = 1000}, .epochs = 1};
  options.log = [&](std::string_view line) { logged += line; };
  const Result<BatchReader> reader = BatchReader::open(dataset, options);
  ASSERT_TRUE(reader.has_value()) << reader.error().to_string();
  EXPECT_EQ(logged.find("open_runs"), logged.npos) << logged;
  EXPECT_GT(reader->stats().budget_bytes, 512u << 20);
  EXPECT_LT(reader->stats().budget_bytes, std::uint64_t{4} << 30);
}

TEST(BatchReaderBudgetTest, WithoutABudgetSlotsHaveRoomForTheLargestRecordUnlessItMaySpill) {
  TempFolder folder;
  constexpr std::size_t kLargest = 60 << 20;
  DatasetWriter writer = DatasetWriter::create(folder.path("data"), {}).value();
  for (int i = 0; i < 1000; ++i) writer.append(as_bytes(i == 500 ? std::string(kLargest, 'x') : "tiny")).value();
  writer.finish().value();
  const Dataset dataset = Dataset::open(folder.path("data")).value();
  for (const Oversize oversize : {Oversize::fail, Oversize::spill}) {
    const ReaderOptions options{.plan = {.batch = 10, .tail = Tail::pad}, .epochs = 1, .oversize = oversize};
    BatchReader reader = BatchReader::open(dataset, options).value();
    if (oversize == Oversize::fail) {
      EXPECT_GE(reader.stats().slot_bytes, kLargest);
    } else {
      EXPECT_EQ(reader.stats().budget_bytes, 256u << 20);
      EXPECT_LT(reader.stats().slot_bytes, kLargest);
    }
    std::size_t largest = 0;
    for (const Batch& batch : reader.epoch()) {
      for (std::uint32_t row = 0; row < batch.rows(); ++row) largest = std::max(largest, batch.row(row).size());
    }
    EXPECT_EQ(largest, kLargest);
    EXPECT_EQ(reader.stats().spilled_batches, oversize == Oversize::spill ? 1u : 0u);
  }
}

/// The memory that an error asks for.
std::uint64_t advised(const Error& error, std::uint64_t given) {
  const std::string text = error.to_string();
  const std::string more = "raise memory_bytes by ";
  if (const std::size_t at = text.find(more); at != text.npos)
    return given + std::stoull(text.substr(at + more.size()));
  const std::size_t end = text.find(" are enough");
  return end == text.npos ? 0 : std::stoull(text.substr(text.rfind(' ', end - 1)));
}

TEST(BatchReaderBudgetTest, TheBudgetThatARefusalCallsEnoughIsEnough) {
  for (const Codec codec : {Codec::none, Codec::snappy}) {
    for (const std::uint32_t block_bytes : {1u << 10, 1u << 20}) {
      TempFolder folder;
      const Dataset dataset = make_sample(
          folder.path("data"), {.shard_records = {300}, .max_bytes = 9000, .codec = codec, .block_bytes = block_bytes});
      ReaderOptions options{.plan = {.batch = 100}, .epochs = 1, .oversize = Oversize::spill};
      std::uint64_t refused = 0;
      for (options.memory_bytes = 4096; refused < 1000; options.memory_bytes += options.memory_bytes / 8, ++refused) {
        const Result<BatchReader> reader = BatchReader::open(dataset, options);
        if (reader.has_value()) break;
        ASSERT_THAT(reader, Fails(Errc::budget_too_small));
        // First for the slots, then for the open runs.
        ReaderOptions enough = options;
        enough.memory_bytes = advised(reader.error(), enough.memory_bytes);
        ASSERT_GT(enough.memory_bytes, options.memory_bytes) << reader.error().to_string();
        if (const Result<BatchReader> again = BatchReader::open(dataset, enough); !again.has_value()) {
          enough.memory_bytes = advised(again.error(), enough.memory_bytes);
          ASSERT_TRUE(BatchReader::open(dataset, enough).has_value()) << again.error().to_string();
        }
      }
      EXPECT_GT(refused, 0u);
    }
  }
}

}  // namespace
}  // namespace dovetail::test
