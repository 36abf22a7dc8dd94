// SPDX-License-Identifier: Apache-2.0
// A run in memory holds its records where it says, whatever blocks it has and whichever of them are
// damaged.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/tfrecord_export.h>
#include <dovetail/tfrecord_index.h>

#include "reader/dataset/stored_block.h"
#include "reader/fetch/loaded_run.h"
#include "tests/plan/random_source.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/cases.h"
#include "tests/support/files.h"

namespace dovetail::test {
namespace {

using detail::AlignedBuffer;
using detail::DamagedBlock;
using detail::Entry;
using detail::FetchRules;
using detail::LoadedRun;
using detail::ReadInto;
using detail::ReadyRun;
using detail::RecordExtent;
using detail::ShardFile;
using detail::Storage;

/// Loads a run as one thread does that finds everything in the page cache.
LoadedRun load(const std::shared_ptr<const ShardFile>& file, const Run& run, const FetchRules& rules, Storage& storage,
               std::vector<DamagedBlock>& damage) {
  LoadedRun loaded(run);
  const std::size_t bytes = loaded.lay_out(*file, rules);
  loaded.begin(file, AlignedBuffer(bytes));
  for (std::size_t piece = 0; piece < loaded.pieces().size(); ++piece) {
    const std::uint64_t stored_bytes = loaded.pieces()[piece].stored_bytes;
    AlignedBuffer scratch(static_cast<std::size_t>(stored_bytes));
    std::span<std::byte> into = loaded.read_into(piece);
    if (into.empty()) into = {scratch.data(), static_cast<std::size_t>(stored_bytes)};
    Result<void> read;
    const Result<bool> there = storage.try_read(file->file(), loaded.pieces()[piece].file_offset, ReadInto{into});
    if (!there) read = there.error();
    EXPECT_TRUE(!there || *there) << "not in the page cache";
    auto filled = loaded.fill(piece, read, into, storage);
    damage.insert(damage.end(), filled.damage.begin(), filled.damage.end());
  }
  loaded.damaged = !damage.empty();
  return loaded;
}

class LoadedRunTest : public ::testing::Test {
 protected:
  /// One shard, or the same records as a TFRecord with an index, and how it is to be fetched.
  void make(RandomSource& random) {
    const bool same_size = random.chance(50);
    shape_ = {.shard_records = {1 + random.below(400)},
              .min_bytes = same_size ? 1 + static_cast<std::uint32_t>(random.below(300)) : 0,
              .max_bytes = static_cast<std::uint32_t>(random.below(600)),
              .codec = random.chance(50) ? Codec::snappy : Codec::none,
              .block_bytes = 1024u << random.below(5),
              .run_records = 1 + random.below(200)};
    if (same_size) shape_.max_bytes = shape_.min_bytes;
    shape_.max_bytes = std::max(shape_.max_bytes, shape_.min_bytes);
    folder_ = std::make_unique<TempFolder>();
    const Dataset dataset = make_sample(folder_->path("shards"), shape_);
    path_ = folder_->path("shards/") + dataset.shards()[0].name;
    if (random.chance(40)) {
      path_ = folder_->path("all.tfrecord");
      ASSERT_TRUE(export_tfrecords(path_, {.sources = {folder_->path("shards")}}).has_value());
      const auto indexed = index_tfrecord(path_, {.block_bytes = shape_.block_bytes, .run_bytes = 4096});
      ASSERT_TRUE(indexed.has_value());
    }
    auto opened = ShardFile::open(path_).value();
    file_ = std::make_shared<ShardFile>(std::move(opened));
    rules_ = {.read_bytes = std::uint64_t{1} << (9 + random.below(8)),
              .placed_bytes = random.chance(50) ? 1 + random.below(600) : UINT64_MAX,
              .record_bytes = same_size && random.chance(80) ? shape_.max_bytes : 0};
  }

  dovetail::Run draw_run(RandomSource& random) const {
    const std::uint64_t records = shape_.shard_records[0];
    const std::uint64_t first = random.below(records);
    // Ids need not begin with the file.
    return {.shard = 0, .first_record = first, .count = 1 + random.below(records - first), .first_id = first + 7000};
  }

  /// Every record of the run that is not in a damaged block is where it should be, and no other is
  /// called damaged.
  void expect_records(const LoadedRun& loaded, const std::vector<DamagedBlock>& damage) const {
    const ReadyRun ready = loaded.ready();
    EXPECT_EQ((ready.where & Entry::kDamage) != 0, !damage.empty());
    const dovetail::Run& run = loaded.run;
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t id = run.first_id + i;
      const bool damaged = std::any_of(damage.begin(), damage.end(), [&](const DamagedBlock& block) {
        return id >= block.first_id && id < block.first_id + block.records;
      });
      if (damaged) continue;
      const std::string wanted = sample_record(run.first_record + i, shape_);
      std::uint64_t where = ready.where + i * detail::stride_of(*file_, rules_.record_bytes);
      std::size_t bytes = rules_.record_bytes;
      if (rules_.record_bytes == 0) {
        const RecordExtent extent = ready.extents[i];
        bytes = extent.bytes;
        ASSERT_EQ(bytes, wanted.size());
        if ((extent.begin & RecordExtent::kPlaced) != 0) {
          const std::size_t block = ready.first_block + (extent.begin - RecordExtent::kPlaced);
          ASSERT_EQ(block, file_->block_of(run.first_record + i));
          ASSERT_TRUE(detail::is_placed(*file_, block, rules_));
          continue;
        }
        where = ready.where + extent.begin;
      }
      const auto* data = reinterpret_cast<const char*>(detail::address_of(where));
      ASSERT_EQ(std::string(data, bytes), wanted) << "record " << run.first_record + i;
    }
  }

  SampleShape shape_;
  std::unique_ptr<TempFolder> folder_;
  std::string path_;
  std::shared_ptr<ShardFile> file_;
  FetchRules rules_;
  std::unique_ptr<Storage> storage_ = detail::make_pread_pool(1);
};

TEST_F(LoadedRunTest, HoldsEveryRecordOfAnyRun) {
  RandomSource random(41);
  const std::uint64_t count = Cases{.sanitized = 40, .some = 200, .all = 4000}.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_NO_FATAL_FAILURE(make(random));
    for (int runs = 0; runs < 5; ++runs) {
      std::vector<DamagedBlock> damage;
      const LoadedRun loaded = load(file_, draw_run(random), rules_, *storage_, damage);
      ASSERT_TRUE(damage.empty());
      ASSERT_NO_FATAL_FAILURE(expect_records(loaded, damage)) << path_ << " case " << i;
    }
  }
}

TEST_F(LoadedRunTest, FindsTheDamagedBlocksAndNoOther) {
  RandomSource random(42);
  const std::uint64_t count = Cases{.sanitized = 40, .some = 200, .all = 4000}.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_NO_FATAL_FAILURE(make(random));
    const dovetail::Run run = draw_run(random);
    std::set<std::size_t> hit;
    for (int flips = 0; flips < 3; ++flips) {
      const std::size_t block = random.below(file_->blocks().size());
      const std::uint64_t bytes = detail::stored_bytes(*file_, block);
      if (bytes == 0 || !hit.insert(block).second) continue;
      flip_bit(path_, file_->blocks()[block].offset + random.below(bytes), static_cast<unsigned>(random.below(8)));
    }
    std::vector<DamagedBlock> damage;
    const LoadedRun loaded = load(file_, run, rules_, *storage_, damage);
    std::set<std::size_t> found;
    for (const DamagedBlock& block : damage) {
      found.insert(block.block);
      ASSERT_EQ(block.first_id, run.first_id - run.first_record + file_->first_record(block.block));
      ASSERT_EQ(block.records, file_->blocks()[block.block].records);
      ASSERT_EQ(block.error.path(), path_);
    }
    std::set<std::size_t> wanted;
    for (const std::size_t block : hit) {
      const bool in_run = file_->first_record(block) < run.first_record + run.count &&
                          file_->first_record(block + 1) > run.first_record;
      if (in_run && !detail::is_placed(*file_, block, rules_)) wanted.insert(block);
    }
    ASSERT_EQ(found, wanted) << path_ << " case " << i;
    ASSERT_NO_FATAL_FAILURE(expect_records(loaded, damage)) << path_ << " case " << i;
  }
}

}  // namespace
}  // namespace dovetail::test
