// SPDX-License-Identifier: Apache-2.0
// Reading while the n-th call of the system fails, for every n until a run passes untouched: no wrong byte, no missing row.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>
#include <dovetail/record_reader.h>

#include "tests/faults/system_faults.h"
#include "tests/reader/delivery/reader_fixture.h"

namespace dovetail {
namespace {

const testing::SampleShape kShape{.shard_records = {60, 0, 45}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048};
constexpr std::uint64_t kRecords = 105;

class ReadingFaultsTest : public ::testing::Test {
 protected:
  ReadingFaultsTest() : dataset_(testing::make_sample(folder_.path("data"), kShape)) {}

  template <class Work>
  void with_every_fault(Work work) {
    const std::uint64_t faults = testing::with_every_fault(work, [](bool) {});
    EXPECT_GT(faults, 20u);
    RecordProperty("faults", static_cast<int>(faults));
  }

  static ReaderOptions options(OnDamage on_damage, StorageKind storage) {
    ReaderOptions options;
    options.plan.batch = 8;
    options.plan.tail = Tail::pad;
    options.plan.open_runs = 4;
    options.plan.pool = 16;
    options.epochs = 1;
    options.decode_threads = 2;
    options.on_damage = on_damage;
    options.storage = storage;
    options.registration = Registration::off;
    return options;
  }

  /// An epoch, as far as it comes. Whether every row was there.
  bool read_epoch(const ReaderOptions& options) {
    Result<BatchReader> reader = BatchReader::open(dataset_, options);
    if (!reader.has_value()) {
      ADD_FAILURE() << "opening a reader reads nothing: " << reader.error().to_string();
      return false;
    }
    const testing::Rows planned = testing::planned(reader->plan(), 0, 0);
    std::size_t at = 0;
    bool all = true;
    for (;;) {
      const Result<std::optional<Batch>> batch = reader->next();
      if (!batch.has_value()) {
        // Too many open files are no damage of a shard.
        const bool shortage = batch.error().code() == boost::system::errc::too_many_files_open;
        EXPECT_TRUE(shortage || options.on_damage == OnDamage::fail) << batch.error().to_string();
        EXPECT_FALSE(reader->error()->path().empty()) << batch.error().to_string();
        return false;
      }
      if (!batch->has_value()) break;
      for (std::uint32_t row = 0; row < (*batch)->rows(); ++row, ++at) {
        EXPECT_EQ((*batch)->ids()[row], planned.at(at).id);
        all = check_row(**batch, row, planned[at].status) && all;
      }
    }
    EXPECT_EQ(at, planned.size()) << "the epoch has ended too early";
    EXPECT_EQ(all, reader->stats().damaged.empty());
    if (options.on_damage == OnDamage::fail) {
      EXPECT_TRUE(all);
    }
    return all;
  }

  /// Whether the row has its own bytes; what it has must be right.
  static bool check_row(const Batch& batch, std::uint32_t row, RowStatus planned) {
    const RowStatus status = batch.status()[row];
    if (status == planned) {
      if (status == RowStatus::empty) return true;
      EXPECT_EQ(as_chars(batch.row(row)), testing::sample_record(batch.ids()[row], kShape));
      return true;
    }
    if (status == RowStatus::damaged_empty) {
      EXPECT_TRUE(batch.row(row).empty());
      return false;
    }
    EXPECT_EQ(status, RowStatus::substituted);
    for (std::uint32_t other = 0; other < batch.rows(); ++other) {
      if (batch.status()[other] != RowStatus::first) continue;
      if (as_chars(batch.row(row)) == testing::sample_record(batch.ids()[other], kShape)) return false;
    }
    ADD_FAILURE() << "bytes of no row of the batch";
    return false;
  }

  testing::TempFolder folder_;
  Dataset dataset_;
};

TEST_F(ReadingFaultsTest, AnEpochIsRightOrEndsWithAnErrorThatNamesAFile) {
  with_every_fault([&] { return read_epoch(options(OnDamage::fail, StorageKind::pread)); });
}

TEST_F(ReadingFaultsTest, AnEpochThatPassesOverDamageKeepsStepsRowsAndIds) {
  with_every_fault([&] { return read_epoch(options(OnDamage::substitute, StorageKind::pread)); });
  with_every_fault([&] { return read_epoch(options(OnDamage::empty, StorageKind::pread)); });
}

TEST_F(ReadingFaultsTest, ADatasetOpensAsItIsOrNotAtAll) {
  with_every_fault([&] {
    const Result<Dataset> opened = Dataset::open(folder_.path("data"));
    if (!opened.has_value()) {
      EXPECT_FALSE(opened.error().path().empty()) << opened.error().to_string();
      return false;
    }
    EXPECT_EQ(opened->fingerprint(), dataset_.fingerprint());
    return true;
  });
  with_every_fault([&] {
    const Result<Dataset> opened = Dataset::open(folder_.path("data") + "/shard-*.dvt");
    if (!opened.has_value()) return false;
    EXPECT_EQ(opened->fingerprint(), dataset_.fingerprint());
    return true;
  });
}

TEST_F(ReadingFaultsTest, RecordsInOrderAreRightOrEndWithAnError) {
  with_every_fault([&] {
    Result<RecordReader> reader = RecordReader::open(dataset_.shard_path(0));
    if (!reader.has_value()) {
      EXPECT_FALSE(reader.error().path().empty());
      return false;
    }
    for (std::uint64_t id = 0;; ++id) {
      const Result<std::optional<ByteView>> record = reader->next();
      if (!record.has_value()) {
        EXPECT_FALSE(record.error().path().empty());
        return false;
      }
      if (!record->has_value()) {
        EXPECT_EQ(id, kShape.shard_records[0]);
        return true;
      }
      EXPECT_EQ(as_chars(**record), testing::sample_record(id, kShape));
    }
  });
}

TEST_F(ReadingFaultsTest, VerifyNeverSaysThatWhatItCouldNotReadIsGood) {
  with_every_fault([&] {
    const Result<VerifyReport> report = verify(folder_.path("data"), 2);
    if (!report.has_value()) return false;
    if (report->ok()) {
      EXPECT_EQ(report->records, kRecords);
    }
    return report->ok();
  });
}

}  // namespace
}  // namespace dovetail
