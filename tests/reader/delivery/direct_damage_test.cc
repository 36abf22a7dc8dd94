// SPDX-License-Identifier: Apache-2.0
// Damaged records that were to be read or decoded straight into their rows, among good ones of
// every kind.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "format/layout.h"
#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/gated_storage.h"

namespace dovetail::test {
namespace {

constexpr std::uint32_t kBatch = 12;

/// One shard in which large records, each in a block of its own, lie among small ones that share
/// blocks; read in its own order, so that a row of a batch is chosen by the id of its record.
class DirectDamageTest : public ::testing::TestWithParam<Codec> {
 protected:
  DirectDamageTest() : dataset_(make_sample(folder_.path("data"), shape_)) {
    const detail::ShardFile file = detail::open_shard(dataset_, 0).value();
    for (std::size_t block = 0; block < file.blocks().size(); ++block) {
      const format::IndexEntry& entry = file.blocks()[block];
      if (entry.records == 1 && entry.raw_bytes >= (16 << 10)) {
        direct_[file.first_record(block)] = entry.offset;
      } else if (entry.records > 1) {
        ++shared_blocks_;
      }
    }
  }

  void damage(std::uint64_t id) {
    flip_bit(dataset_.shard_path(0), direct_.at(id) + format::kBlockHeaderBytes + 1000, 2);
    damaged_.insert(id);
  }

  ReaderOptions options(OnDamage on_damage, std::uint64_t memory_bytes = 64 << 20) {
    return {.plan = {.batch = kBatch, .order = OrderKind::sequential, .tail = Tail::pad},
            .epochs = 1,
            .on_damage = on_damage,
            .memory_bytes = memory_bytes};
  }

  /// Whose bytes a row must have; `kNoId` where none.
  std::uint64_t source(std::uint64_t row, std::uint64_t first, std::uint64_t end, OnDamage on_damage) const {
    if (damaged_.count(row) == 0) return row;
    if (on_damage == OnDamage::empty) return kNoId;
    for (std::uint64_t before = row; before-- > first;) {
      if (damaged_.count(before) == 0) return before;
    }
    for (std::uint64_t after = row + 1; after < end; ++after) {
      if (damaged_.count(after) == 0) return after;
    }
    return kNoId;
  }

  void expect_rest_untouched(OnDamage on_damage, GatedStorage::Immediate immediate, std::uint64_t memory_bytes) {
    const std::unique_ptr<detail::RankReader> engine =
        open_engine(dataset_, options(on_damage, memory_bytes), [&](std::unique_ptr<detail::Storage> inner) {
          return std::make_unique<GatedStorage>(std::move(inner), immediate);
        }).value();
    std::uint64_t first = 0;
    while (const std::optional<Batch> batch = engine->next().value()) {
      const std::uint64_t end = std::min(first + kBatch, dataset_.records());
      for (std::uint64_t id = first; id < end; ++id) {
        const auto row = static_cast<std::uint32_t>(id - first);
        const std::uint64_t from = source(id, first, end, on_damage);
        ASSERT_EQ(batch->ids()[row], id) << "rows keep their planned ids";
        ASSERT_EQ(batch->status()[row], from == id      ? RowStatus::first
                                        : from == kNoId ? RowStatus::damaged_empty
                                                        : RowStatus::substituted);
        ASSERT_TRUE(as_chars(batch->row(row)) == (from == kNoId ? "" : sample_record(from, shape_)))
            << "row " << row << " of step " << batch->step();
      }
      ASSERT_EQ(static_cast<std::size_t>(batch->offsets().back()), batch->values().size());
      first += kBatch;
    }
    EXPECT_GE(first, dataset_.records());
    const ReaderStats stats = engine->stats();
    EXPECT_EQ(stats.damaged.size(), damaged_.size());
    EXPECT_EQ(stats.retried_reads, damaged_.size());
  }

  const SampleShape shape_{
      .shard_records = {120}, .max_bytes = 60000, .codec = GetParam(), .block_bytes = 32768, .run_records = 40};
  TempFolder folder_;
  Dataset dataset_;
  std::map<std::uint64_t, std::uint64_t> direct_;  // record to offset
  std::size_t shared_blocks_ = 0;
  std::set<std::uint64_t> damaged_;
};

TEST_P(DirectDamageTest, TheSampleMixesDirectRecordsAndSharedBlocks) {
  EXPECT_GT(direct_.size(), 40u);
  EXPECT_GT(shared_blocks_, 5u);
}

TEST_P(DirectDamageTest, OtherRowsKeepTheirBytesWhereverTheDamageIsInTheBatch) {
  // In every batch another place: its first direct record, its last, one between; then all of one
  // batch.
  const auto in_batch = [&](std::uint64_t batch) {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, offset] : direct_) {
      if (id / kBatch == batch) ids.push_back(id);
    }
    return ids;
  };
  for (std::uint64_t batch = 0; batch < 10; ++batch) {
    const std::vector<std::uint64_t> ids = in_batch(batch);
    ASSERT_GE(ids.size(), 3u);
    if (batch % 5 == 0) damage(ids.front());
    if (batch % 5 == 1) damage(ids.back());
    if (batch % 5 == 2) damage(ids[ids.size() / 2]);
    if (batch % 5 == 3) {
      for (const std::uint64_t id : ids) damage(id);
    }
  }
  for (const OnDamage on_damage : {OnDamage::empty, OnDamage::substitute}) {
    for (const auto immediate : {GatedStorage::Immediate::yes, GatedStorage::Immediate::no}) {
      SCOPED_TRACE(::testing::Message() << "policy " << int(on_damage) << ", immediate " << int(immediate));
      expect_rest_untouched(on_damage, immediate, 64 << 20);
    }
  }
}

TEST_P(DirectDamageTest, FirstAndLastRowsOfABatchMayBeTheDamagedOnes) {
  for (const auto& [id, offset] : direct_) {
    if (id % kBatch == 0 || id % kBatch == kBatch - 1 || id + 1 == dataset_.records()) damage(id);
  }
  ASSERT_GE(damaged_.size(), 4u);
  for (const OnDamage on_damage : {OnDamage::empty, OnDamage::substitute}) {
    expect_rest_untouched(on_damage, GatedStorage::Immediate::yes, 64 << 20);
    expect_rest_untouched(on_damage, GatedStorage::Immediate::no, 64 << 20);
  }
}

TEST_P(DirectDamageTest, FailNamesTheRecordAndDeliversAllBatchesBefore) {
  const auto [id, offset] = *std::next(direct_.begin(), static_cast<std::ptrdiff_t>(direct_.size() / 2));
  damage(id);
  for (const auto immediate : {GatedStorage::Immediate::yes, GatedStorage::Immediate::no}) {
    const std::unique_ptr<detail::RankReader> engine =
        open_engine(dataset_, options(OnDamage::fail), [&](std::unique_ptr<detail::Storage> inner) {
          return std::make_unique<GatedStorage>(std::move(inner), immediate);
        }).value();
    for (std::uint64_t step = 0; step < id / kBatch; ++step) ASSERT_EQ(engine->next().value()->step(), step);
    const Result<std::optional<Batch>> failed = engine->next();
    ASSERT_THAT(failed, Fails(Errc::payload_checksum).at(offset).saying("step " + std::to_string(id / kBatch)));
  }
}

TEST_P(DirectDamageTest, AFileThatEndsInsideADirectRecordLosesOnlyWhatIsBehindItsEnd) {
  const auto [id, offset] = *std::prev(direct_.end());
  BatchReader reader = BatchReader::open(dataset_, options(OnDamage::empty)).value();
  ASSERT_TRUE(reader.next().value().has_value());  // the shard is open from here on
  std::filesystem::resize_file(dataset_.shard_path(0), offset + format::kBlockHeaderBytes + 100);
  std::uint64_t lost = 0;
  std::uint64_t rows = kBatch;
  while (const std::optional<Batch> batch = reader.next().value()) {
    for (std::uint32_t row = 0; row < batch->rows() && rows < dataset_.records(); ++row, ++rows) {
      const std::uint64_t planned = batch->ids()[row];
      if (batch->status()[row] == RowStatus::damaged_empty) {
        EXPECT_GE(planned, id);
        ++lost;
      } else {
        EXPECT_TRUE(as_chars(batch->row(row)) == sample_record(planned, shape_));
      }
    }
  }
  EXPECT_EQ(rows, dataset_.records());
  EXPECT_LE(lost, dataset_.records() - id);
}

INSTANTIATE_TEST_SUITE_P(Codecs, DirectDamageTest, ::testing::Values(Codec::none, Codec::snappy),
                         [](const auto& of) { return of.param == Codec::none ? "None" : "Snappy"; });

}  // namespace
}  // namespace dovetail::test
