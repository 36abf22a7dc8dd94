// SPDX-License-Identifier: Apache-2.0
// Writing while the n-th call of the system fails, for every n until a run passes untouched: nothing that looks finished is not.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>

#include "tests/faults/system_faults.h"
#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kRecords = 90;

Result<void> write_dataset(const std::string& folder, const std::vector<std::string>& records, bool overwrite) {
  DatasetWriterOptions options;
  options.shard_bytes = 40'000;
  options.encode_threads = 2;
  options.shard.block_bytes = 4096;
  options.shard.overwrite = overwrite;
  Result<DatasetWriter> writer = DatasetWriter::create(folder, options);
  if (!writer.has_value()) return writer.error();
  for (const std::string& record : records) {
    if (Result<void> appended = writer->append(as_bytes(record)); !appended.has_value()) return appended;
  }
  const Result<DatasetInfo> finished = writer->finish();
  return finished.has_value() ? Result<void>() : finished.error();
}

class WritingFaultsTest : public ::testing::Test {
 protected:
  std::string target() const { return folder_.path("target"); }

  /// After an error: nothing is left, but for what the system would not remove, and that does not look finished unless it is.
  void expect_nothing_unfinished() const {
    if (!testing::FaultAt::removal_failed()) {
      EXPECT_THAT(testing::names_left(target()), IsEmpty());
    }
    for (const std::string& name : testing::names_left(target())) {
      if (name.starts_with('.')) continue;
      EXPECT_TRUE(verify(target() + "/" + name).value().ok()) << name;
    }
  }

  testing::TempFolder folder_;
};

TEST_F(WritingFaultsTest, AShardIsWholeOrNotThere) {
  std::filesystem::create_directory(target());
  const std::vector<std::string> records = testing::written_records(0, kRecords);
  const auto work = [&] {
    WriterOptions options;
    options.block_bytes = 4096;
    Result<RecordWriter> writer = RecordWriter::create(target() + "/s.dvt", options);
    if (!writer.has_value()) return false;
    for (const std::string& record : records) {
      if (!writer->append(as_bytes(record)).has_value()) return false;
    }
    return writer->finish().has_value();
  };
  const std::uint64_t faults = testing::with_every_fault(work, [&](bool good) {
    if (good) {
      EXPECT_THAT(testing::names_left(target()), UnorderedElementsAre("s.dvt"));
      EXPECT_TRUE(testing::records_left(target() + "/s.dvt") == records);
    } else {
      expect_nothing_unfinished();
    }
    std::filesystem::remove_all(target());
    std::filesystem::create_directory(target());
  });
  EXPECT_GT(faults, 30 / testing::kFaultStep);
  testing::count_faults(faults);
}

TEST_F(WritingFaultsTest, AShardThatReplacesAnotherIsThereOrTheOtherIs) {
  std::filesystem::create_directory(target());
  const std::string path = target() + "/s.dvt";
  const std::vector<std::string> before = testing::written_records(500, kRecords);
  const std::vector<std::string> records = testing::written_records(0, kRecords);
  const auto write = [&](const std::vector<std::string>& written) {
    WriterOptions options;
    options.overwrite = true;
    Result<RecordWriter> writer = RecordWriter::create(path, options);
    if (!writer.has_value()) return false;
    for (const std::string& record : written) {
      if (!writer->append(as_bytes(record)).has_value()) return false;
    }
    return writer->finish().has_value();
  };
  ASSERT_TRUE(write(before));
  const std::uint64_t faults = testing::with_every_fault(
      [&] { return write(records); },
      [&](bool good) {
        const std::vector<std::string> left = testing::records_left(path);
        EXPECT_TRUE(left == records || (!good && left == before)) << left.size() << " records";
        std::filesystem::remove_all(target());
        std::filesystem::create_directory(target());
        ASSERT_TRUE(write(before));
      });
  EXPECT_GT(faults, 10 / testing::kFaultStep);
  testing::count_faults(faults);
}

TEST_F(WritingFaultsTest, ADatasetIsWholeOrNotThere) {
  const std::vector<std::string> records = testing::written_records(0, kRecords);
  const auto work = [&] { return write_dataset(target(), records, false).has_value(); };
  const std::uint64_t faults = testing::with_every_fault(work, [&](bool good) {
    if (good) {
      EXPECT_TRUE(testing::records_left(target()) == records);
    } else {
      expect_nothing_unfinished();
    }
    std::filesystem::remove_all(target());
  });
  EXPECT_GT(faults, 100 / testing::kFaultStep);
  testing::count_faults(faults);
}

TEST_F(WritingFaultsTest, ADatasetThatReplacesAnotherIsThereOrTheOtherIsOrNone) {
  const std::vector<std::string> before = testing::written_records(500, kRecords);
  const std::vector<std::string> records = testing::written_records(0, kRecords);
  ASSERT_TRUE(write_dataset(target(), before, false).has_value());
  const auto work = [&] { return write_dataset(target(), records, true).has_value(); };
  std::uint64_t kept = 0;
  std::uint64_t refused = 0;
  const std::uint64_t faults = testing::with_every_fault(work, [&](bool good) {
    if (good) {
      EXPECT_TRUE(testing::records_left(target()) == records);
    } else if (Dataset::open(target()).has_value()) {
      const std::vector<std::string> left = testing::records_left(target());
      EXPECT_TRUE(left == before || left == records) << left.size() << " records";
      kept += left == before ? 1 : 0;
    } else {
      ++refused;
      EXPECT_TRUE(recover(target(), folder_.path("saved")).has_value());
      EXPECT_EQ(testing::records_left(folder_.path("saved")).size(), kRecords) << "each is under one name or another";
      std::filesystem::remove_all(folder_.path("saved"));
      for (const std::string& name : testing::names_left(target())) {
        if (name.starts_with('.')) continue;
        EXPECT_TRUE(verify(target() + "/" + name).value().ok()) << name;
      }
    }
    std::filesystem::remove_all(target());
    ASSERT_TRUE(write_dataset(target(), before, false).has_value());
  });
  EXPECT_GT(faults, 100 / testing::kFaultStep);
  testing::count_faults(faults);
  EXPECT_GT(kept, faults / 4) << "what was there goes only once the new one is written";
  EXPECT_GT(refused, 0u) << "a folder in which some shards were replaced is no dataset";
}

}  // namespace
}  // namespace dovetail
