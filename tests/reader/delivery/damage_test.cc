// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

const SampleShape kShape{.shard_records = {200, 200}, .min_bytes = 1};

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRemedy =
    "; `dovetail verify` lists all damage, and on_damage = substitute or empty goes on without the lost rows";

class DamageTest : public FolderTest {
 protected:
  DamageTest() : dataset_(make_sample(folder_.path("data"), kShape)) {}

  /// Damages one block of the first shard and returns it.
  BlockInfo damage_block(std::size_t block) {
    const BlockInfo info = describe_shard(dataset_.shard_path(0)).value().blocks.at(block);
    flip_bit(dataset_.shard_path(0), info.offset + 64 + info.stored_bytes / 2, 3);
    return info;
  }

  ReaderOptions options(OnDamage on_damage) {
    return {.plan = {.batch = 25, .tail = Tail::pad, .pool = 64}, .epochs = 1, .on_damage = on_damage};
  }

  struct Seen {
    std::vector<std::uint64_t> ids;
    std::vector<RowStatus> status;
    std::uint64_t steps = 0;
  };
  Seen read(const ReaderOptions& options, ReaderStats* stats = nullptr) {
    BatchReader reader = BatchReader::open(dataset_, options).value();
    Seen seen;
    for (const Batch& batch : reader.epoch()) {
      ++seen.steps;
      for (std::uint32_t row = 0; row < batch.rows(); ++row) {
        seen.ids.push_back(batch.ids()[row]);
        seen.status.push_back(batch.status()[row]);
        check_row(batch, row);
      }
    }
    EXPECT_EQ(seen.steps, reader.steps(0).value());
    if (stats != nullptr) *stats = reader.stats();
    return seen;
  }

  void check_row(const Batch& batch, std::uint32_t row) {
    switch (batch.status()[row]) {
      case RowStatus::first:
      case RowStatus::repeated:
        EXPECT_EQ(as_chars(batch.row(row)), sample_record(batch.ids()[row], kShape));
        break;
      case RowStatus::substituted: {
        // The nearest good row: before it, else after it.
        std::uint32_t from = row;
        while (from > 0 && batch.status()[from] == RowStatus::substituted) --from;
        if (batch.status()[from] == RowStatus::substituted) {
          from = row;
          while (batch.status()[from] == RowStatus::substituted) ++from;
        }
        EXPECT_EQ(as_chars(batch.row(row)), sample_record(batch.ids()[from], kShape));
        break;
      }
      case RowStatus::empty:
      case RowStatus::damaged_empty:
        EXPECT_TRUE(batch.row(row).empty());
        break;
      case RowStatus::repeated_substituted:
      case RowStatus::repeated_damaged_empty:
        ADD_FAILURE() << "nothing is repeated here";
        break;
    }
  }

  Dataset dataset_;
};

TEST_F(DamageTest, FailNamesFileOffsetRecordsAndStepAndStaysTheAnswer) {
  const BlockInfo damaged = damage_block(3);
  BatchReader reader = BatchReader::open(dataset_, options(OnDamage::fail)).value();
  Result<std::optional<Batch>> batch = reader.next();
  std::uint64_t steps = 0;
  while (batch.has_value()) {
    ASSERT_TRUE(batch->has_value()) << "the damage was passed over";
    EXPECT_EQ((*batch)->step(), steps++);
    batch = std::optional<Batch>();
    batch = reader.next();
  }
  EXPECT_THAT(batch.error().detail(), EndsWith(kRemedy));
  const Error error = batch.error();
  EXPECT_THAT(error, Fails(Errc::payload_checksum).in(dataset_.shard_path(0)).at(damaged.offset));
  const std::string records = "records [" + std::to_string(damaged.first_record) + ", " +
                              std::to_string(damaged.first_record + damaged.records) + ")";
  EXPECT_NE(error.to_string().find(records), std::string::npos) << error.to_string();
  EXPECT_NE(error.to_string().find("step " + std::to_string(steps) + " of epoch 0"), std::string::npos)
      << error.to_string();
  EXPECT_THAT(reader.next(), Fails(Errc::payload_checksum));
  EXPECT_EQ(reader.error()->to_string(), error.to_string());
}

TEST_F(DamageTest, SubstituteAndEmptyKeepStepsRowsAndIds) {
  const Seen before = read(options(OnDamage::fail));
  const BlockInfo damaged = damage_block(5);
  const auto in_block = [&](std::uint64_t id) {
    return id >= damaged.first_record && id < damaged.first_record + damaged.records;
  };
  for (const OnDamage policy : {OnDamage::substitute, OnDamage::empty}) {
    ReaderStats stats;
    const Seen seen = read(options(policy), &stats);
    EXPECT_EQ(seen.ids, before.ids);
    for (std::size_t row = 0; row < seen.ids.size(); ++row) {
      if (seen.ids[row] != kNoId && in_block(seen.ids[row])) {
        EXPECT_EQ(seen.status[row], policy == OnDamage::empty ? RowStatus::damaged_empty : RowStatus::substituted);
      } else {
        EXPECT_EQ(seen.status[row], before.status[row]);
      }
    }
    EXPECT_EQ(policy == OnDamage::empty ? stats.rows_damaged_empty : stats.rows_substituted, damaged.records);
    ASSERT_EQ(stats.damaged.size(), 1u);
    EXPECT_EQ(stats.damaged[0].offset, damaged.offset);
    EXPECT_EQ(stats.damaged[0].first_record, damaged.first_record);
    EXPECT_EQ(stats.damaged[0].end_record, damaged.first_record + damaged.records);
    EXPECT_GE(stats.retried_reads, 1u);
  }
}

TEST_F(DamageTest, ALaneWithoutAGoodRowStaysEmptyUnderSubstitute) {
  for (std::size_t block = 0; block < describe_shard(dataset_.shard_path(0)).value().blocks.size(); ++block) {
    damage_block(block);
  }
  ReaderOptions options = this->options(OnDamage::substitute);
  options.plan.order = OrderKind::sequential;  // batches of the first shard alone
  const Seen seen = read(options);
  EXPECT_EQ(std::count(seen.status.begin(), seen.status.end(), RowStatus::damaged_empty), 200);
}

TEST_F(DamageTest, AVanishedShardIsAnErrorOrLostRowsAsAsked) {
  std::filesystem::remove(dataset_.shard_path(1));
  BatchReader reader = BatchReader::open(dataset_, options(OnDamage::fail)).value();
  Result<std::optional<Batch>> batch = reader.next();
  while (batch.has_value() && batch->has_value()) batch = reader.next();
  EXPECT_THAT(batch, Fails(ErrorKind::io).in(dataset_.shard_path(1)));
  EXPECT_THAT(batch.error().detail(), Not(HasSubstr("on_damage"))) << "the shard may be elsewhere";

  ReaderStats stats;
  const Seen seen = read(options(OnDamage::empty), &stats);
  EXPECT_EQ(stats.rows_damaged_empty, 200u);
  EXPECT_EQ(stats.rows_first, 200u);
  ASSERT_EQ(stats.damaged.size(), 1u);
  EXPECT_EQ(stats.damaged[0].file, dataset_.shard_path(1));
  EXPECT_EQ(stats.damaged[0].end_record, 200u);
}

TEST_F(DamageTest, AShardThatDisagreesWithTheManifestIsRefused) {
  TempFolder other;
  const Dataset changed = make_sample(other.path("data"), {.shard_records = {200, 199}, .min_bytes = 1});
  std::filesystem::copy_file(changed.shard_path(1), dataset_.shard_path(1),
                             std::filesystem::copy_options::overwrite_existing);
  BatchReader reader = BatchReader::open(dataset_, options(OnDamage::fail)).value();
  Result<std::optional<Batch>> batch = reader.next();
  while (batch.has_value() && batch->has_value()) batch = reader.next();
  EXPECT_THAT(batch, Fails(Errc::manifest_mismatch));
}

TEST(SubstituteTest, RowsThatTheSlotHasNoRoomForStayEmptyInsteadOfFailingTheStep) {
  TempFolder folder;
  DatasetWriterOptions made{.shard = {.codec = Codec::none, .block_bytes = 2048, .run_records = 25}};
  DatasetWriter writer = DatasetWriter::create(folder.path("data"), made).value();
  writer.append(as_bytes(std::string(12'000, 'a'))).value();
  for (int i = 0; i < 24; ++i) writer.append(as_bytes(std::string(100, 'b'))).value();
  writer.finish().value();
  const Dataset dataset = Dataset::open(folder.path("data")).value();
  const BlockInfo damaged = describe_shard(dataset.shard_path(0)).value().blocks.at(1);
  flip_bit(dataset.shard_path(0), damaged.offset + 64 + damaged.stored_bytes / 2, 3);

  ReaderOptions options{
      .plan = {.batch = 25, .order = OrderKind::sequential}, .epochs = 1, .on_damage = OnDamage::substitute};
  options.memory_bytes = 300'000;  // a slot holds two of the large record, and not one for each damaged row
  BatchReader reader = BatchReader::open(dataset, options).value();
  const auto batch = reader.next().value();
  const ReaderStats stats = reader.stats();
  EXPECT_GE(stats.rows_substituted, 1u);
  EXPECT_GE(stats.rows_damaged_empty, 1u);
  EXPECT_EQ(stats.rows_substituted + stats.rows_damaged_empty, damaged.records);
  EXPECT_EQ(stats.rows_first, 25u - damaged.records);
}

class OversizeTest : public FolderTest {
 protected:
  OversizeTest() : dataset_(make_sample(folder_.path("data"), shape_)) {}
  ReaderOptions options(Oversize oversize) {
    return {.plan = {.batch = 32}, .epochs = 1, .oversize = oversize, .memory_bytes = 4 << 20};
  }

  const SampleShape shape_{.shard_records = {96}, .min_bytes = 50000, .max_bytes = 60000, .codec = Codec::none};
  Dataset dataset_;
};

TEST_F(OversizeTest, ABatchThatDoesNotFitItsSlotIsAnErrorWithARemedy) {
  BatchReader reader = BatchReader::open(dataset_, options(Oversize::fail)).value();
  const Result<std::optional<Batch>> batch = reader.next();
  ASSERT_THAT(batch, Fails(Errc::batch_too_large).saying("raise memory_bytes"));
}

TEST_F(OversizeTest, SpillingDeliversItCompleteAndCountsIt) {
  BatchReader reader = BatchReader::open(dataset_, options(Oversize::spill)).value();
  std::uint64_t batches = 0;
  for (const Batch& batch : reader.epoch()) {
    ++batches;
    EXPECT_FALSE(batch.registered());
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      ASSERT_EQ(as_chars(batch.row(row)), sample_record(batch.ids()[row], shape_));
    }
  }
  EXPECT_EQ(batches, 3u);
  EXPECT_EQ(reader.stats().spilled_batches, 3u);
}

TEST_F(OversizeTest, LargeRecordsAreReadAtTheirUseAndHeldNoLonger) {
  ReaderOptions options = this->options(Oversize::fail);
  options.plan.batch = 4;
  options.memory_bytes = 8 << 20;
  BatchReader reader = BatchReader::open(dataset_, options).value();
  for (const Batch& batch : reader.epoch()) EXPECT_EQ(batch.valid(), 4u);
  EXPECT_EQ(reader.stats().reads, 96u);
}

}  // namespace
}  // namespace dovetail::test
