// SPDX-License-Identifier: Apache-2.0
// Reading while the n-th call of the system fails, for every n until a run passes untouched: no
// wrong byte, no missing row.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/record_reader.h>

#include "tests/faults/faulty_epoch.h"
#include "tests/faults/system_faults.h"

namespace dovetail::test {
namespace {

const SampleShape kShape{.shard_records = {60, 0, 45}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048};
constexpr std::uint64_t kSampleRecords = 105;

class AnyReadingFaultsTest : public test::FaultyEpochTest {
 protected:
  explicit AnyReadingFaultsTest(const SampleShape& shape) : FaultyEpochTest(shape) {}

  /// From each read on all of them want memory that is not there.
  void with_little_memory() {
    for (const OnDamage on_damage : {OnDamage::fail, OnDamage::substitute, OnDamage::empty}) {
      std::uint64_t n = 1;
      for (bool struck = true; struck && !HasFailure(); ++n) {
        SCOPED_TRACE(::testing::Message() << "policy " << static_cast<int>(on_damage) << ", read " << n);
        const FaultAt armed(Fault::no_memory, n, true);
        const bool good = read_epoch(options(on_damage, StorageKind::pread));
        struck = FaultAt::struck();
        EXPECT_NE(good, struck);
      }
      EXPECT_GT(n, 5u);
    }
  }
};

/// Whose records are read straight into their rows.
class LargeRecordsFaultsTest : public AnyReadingFaultsTest {
 protected:
  LargeRecordsFaultsTest()
      : AnyReadingFaultsTest({.shard_records = {9, 8},
                              .min_bytes = 60'000,
                              .max_bytes = 70'000,
                              .codec = Codec::none,
                              .run_records = 2}) {}
};

class ReadingFaultsTest : public AnyReadingFaultsTest {
 protected:
  ReadingFaultsTest() : AnyReadingFaultsTest(kShape) {}

  template <class Work>
  void with_every_fault(Work work) {
    const std::uint64_t faults = test::with_every_fault(work, [](bool) {});
    EXPECT_GT(faults, 20 / kFaultStep);
    count_faults(faults);
  }
};

TEST_F(ReadingFaultsTest, AnEpochIsRightOrEndsWithAnErrorThatNamesAFile) {
  with_every_fault([&] { return read_epoch(options(OnDamage::fail, StorageKind::pread)); });
}

TEST_F(ReadingFaultsTest, AnEpochThatPassesOverDamageKeepsStepsRowsAndIds) {
  with_every_fault([&] { return read_epoch(options(OnDamage::substitute, StorageKind::pread)); });
  with_every_fault([&] { return read_epoch(options(OnDamage::empty, StorageKind::pread)); });
}

TEST_F(ReadingFaultsTest, WantOfMemoryIsNoDamage) {
  with_little_memory();
}

TEST_F(LargeRecordsFaultsTest, WantOfMemoryIsNoDamage) {
  with_little_memory();
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
      EXPECT_EQ(as_chars(**record), sample_record(id, kShape));
    }
  });
}

TEST_F(ReadingFaultsTest, VerifyNeverSaysThatWhatItCouldNotReadIsGood) {
  with_every_fault([&] {
    const Result<VerifyReport> report = verify(folder_.path("data"), 2);
    if (!report.has_value()) return false;
    if (report->ok()) {
      EXPECT_EQ(report->records, kSampleRecords);
    }
    return report->ok();
  });
}

}  // namespace
}  // namespace dovetail::test
