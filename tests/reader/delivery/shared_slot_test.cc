// SPDX-License-Identifier: Apache-2.0
// Batches that are so small that several share a slot.
#include <dovetail/batch_reader.h>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reader/delivery/reader_setup.h"
#include "tests/reader/delivery/reader_fixture.h"

namespace dovetail::test {
namespace {

class SharedSlotTest : public SampleReaderTest {
 protected:
  static Batch take(BatchReader& reader) { return std::move(*reader.next().value()); }
};

TEST_F(SharedSlotTest, SeveralTinyBatchesLieInOneSlotEachInASlabOfItsOwn) {
  ReaderOptions options = this->options(0, 1, 2);
  options.max_held = 64;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  // At first shards open, and each batch goes out as soon as its own are there.
  for (int i = 0; i < 400; ++i) take(reader).release();
  std::vector<Batch> batches;
  std::set<const std::byte*> places;
  for (int i = 0; i < 64; ++i) {
    batches.push_back(take(reader));
    EXPECT_TRUE(places.insert(batches.back().slab().data()).second);
  }
  const detail::MemoryShares shares = detail::share_memory(dataset(), options, 0).value();
  EXPECT_EQ(reader.stats().slot_bytes, shares.slot_bytes);
  EXPECT_EQ(shares.slab_bytes % SlabLayout::kAlignment, 0u);
  int side_by_side = 0;
  for (std::size_t i = 1; i < batches.size(); ++i) {
    EXPECT_LE(batches[i].slab().size(), shares.slab_bytes);
    side_by_side += batches[i].slab().data() == batches[i - 1].slab().data() + shares.slab_bytes ? 1 : 0;
  }
  EXPECT_GT(side_by_side, 32);
}

TEST_F(SharedSlotTest, BatchesThatAreHeldKeepTheirBytesWhileTheRestOfTheirSlotsGoesOn) {
  for (const std::uint32_t prefetch : {1u, 3u}) {
    ReaderOptions options = this->options(0, 1, 3);
    options.prefetch = prefetch;
    options.max_held = 4;
    options.epochs = 4;
    BatchReader reader = BatchReader::open(dataset(), options).value();
    struct Held {
      Batch batch;
      std::vector<std::byte> bytes;
    };
    std::vector<Held> held;
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
      Rows rows;
      while (std::optional<Batch> batch = reader.next().value()) {
        append_checked(*batch, kSampleShape, rows);
        // The first of a slot, one from its middle, and one of a much later slot.
        const bool kept = epoch == 0 && (batch->step() == 0 || batch->step() == 30 || batch->step() == 200);
        if (!kept) continue;
        const ByteView slab = batch->slab();
        held.push_back({std::move(*batch), {slab.begin(), slab.end()}});
      }
      ASSERT_EQ(rows, planned(reader.plan(), 0, epoch));
    }
    ASSERT_EQ(held.size(), 3u);
    for (const Held& one : held) {
      EXPECT_EQ(std::memcmp(one.batch.slab().data(), one.bytes.data(), one.bytes.size()), 0) << one.batch.step();
    }
  }
}

TEST_F(SharedSlotTest, AReaderThatBeginsAnywhereCutsItsSlotsOffAtTheEndOfTheEpoch) {
  for (const std::uint64_t first : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{514}}) {
    ReaderOptions options = this->options(0, 1, 2);
    options.start = {0, first};
    options.epochs = 2;
    BatchReader reader = BatchReader::open(dataset(), options).value();
    for (const std::uint32_t epoch : {0u, 1u}) {
      const Rows rows = read_epoch(reader, kSampleShape);
      ASSERT_EQ(rows, planned(reader.plan(), 0, epoch, epoch == 0 ? first : 0));
    }
  }
}

TEST_F(SharedSlotTest, ManySmallShardsNeedNoMoreFilesThanMayBeOpen) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 256;
  // Records of several sizes, and of one.
  for (const std::uint32_t least_bytes : {8u, 260u}) {
    SampleShape shape{.shard_records = {}, .min_bytes = least_bytes, .max_bytes = 260};
    shape.shard_records.assign(1500, 3);
    const Dataset dataset = make_sample(folder().path("small-" + std::to_string(least_bytes)), shape);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential}) {
      ReaderOptions options = this->options(0, 1, 16);
      options.plan.order = order;
      options.epochs = 1;
      BatchReader reader = BatchReader::open(dataset, options).value();
      EXPECT_EQ(read_epoch(reader, shape), planned(reader.plan(), 0, 0));
      const ReaderStats stats = reader.stats();
      EXPECT_GT(stats.slot_bytes, 8 * (SlabLayout::for_rows(16).values + 16 * 260)) << "batches share no slot";
      EXPECT_EQ(stats.slots, options.prefetch + options.max_held);
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(SharedSlotTest, SlotsAreSharedOnlyWhereThatTakesLittleOfTheBudget) {
  const auto shares = [&](ReaderOptions options) { return detail::share_memory(dataset(), options, 0).value(); };
  ReaderOptions options = this->options(0, 1, 4);
  EXPECT_GT(shares(options).batches_per_slot, 1u);
  for (const std::uint32_t slots : {2u, 16u, 128u}) {
    options.prefetch = options.max_held = slots / 2;
    for (std::uint64_t memory = 4 << 20; memory <= 256 << 20; memory *= 2) {
      options.memory_bytes = memory;
      const detail::MemoryShares got = shares(options);
      EXPECT_EQ(got.slots, slots);
      EXPECT_EQ(got.slot_bytes, got.batches_per_slot * got.slab_bytes);
      if (got.batches_per_slot > 1) {
        EXPECT_LE(got.slots * got.slot_bytes, memory / 8);
      }
      EXPECT_LE(got.slots * got.slot_bytes + got.read_ahead_bytes, memory);
    }
  }
  options = this->options(0, 1, 100'000);
  EXPECT_EQ(shares(options).batches_per_slot, 1u) << "large batches";
  options = this->options(0, 1, 4);
  options.replay = 8;
  EXPECT_EQ(shares(options).batches_per_slot, 1u) << "each batch that is repeated stays in a slot";
}

}  // namespace
}  // namespace dovetail::test
