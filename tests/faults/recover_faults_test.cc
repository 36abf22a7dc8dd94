// SPDX-License-Identifier: Apache-2.0
// Recovering from a disk with bad sectors, and while the n-th call of the system fails: what can be
// read is saved, nothing else is written, and no half of a target is left.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>

#include "tests/faults/system_faults.h"
#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMany = 150;

class RecoverFaultsTest : public FolderTest {
 protected:
  std::string source() const { return folder_.path("source"); }
  std::string target() const { return folder_.path("target"); }

  void TearDown() override { EXPECT_TRUE(files_of(source()) == before_) << "the source was changed"; }

  /// A dataset of several blocks in each of two shards.
  void write_dataset(std::uint64_t records) {
    DatasetWriterOptions options{.shard = {.block_bytes = 2048, .run_records = 4}};
    DatasetWriter writer = DatasetWriter::create(source(), options).value();
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      for (const std::string& record : written_records(1000 * shard, records, 900)) {
        writer.append(as_bytes(record)).value();
      }
      writer.next_shard().value();
    }
    writer.finish().value();
    before_ = files_of(source());
  }

  std::string shard(std::uint32_t number) const { return source() + "/shard-00000" + std::to_string(number) + ".dvt"; }

  std::vector<std::string> saved() const { return records_left(target()); }

  /// Recovers with the bytes unreadable, and compares with the blocks that they touch.
  RecoverReport expect_only_touched_blocks_lost(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::string> records = written_records(0, kMany, 900);
    const ShardDescription described = describe_shard(shard(0)).value();
    for (auto block = described.blocks.rbegin(); block != described.blocks.rend(); ++block) {
      const std::uint64_t block_end = block->offset + 64 + block->stored_bytes;
      if (block->offset >= end || block_end <= begin) continue;
      const auto first = records.begin() + static_cast<std::ptrdiff_t>(block->first_record);
      records.erase(first, first + block->records);
    }
    std::filesystem::remove_all(target());
    Result<RecoverReport> report = Error(Errc::closed);
    {
      const UnreadableBytes bad(shard(0), begin, end);
      report = recover(shard(0), target());
      const std::uint64_t pages = (end - begin) / kPage;
      // Once more for the two pages at the ends, which say whether it is a manifest.
      EXPECT_LE(UnreadableBytes::failed_reads(), 2 * pages + 4) << "each page is tried again once";
      // The ends, and the file in large pieces twice.
      EXPECT_LE(UnreadableBytes::reads(), 3 * pages + 3 * described.blocks.size() + 20);
    }
    if (!report) {
      EXPECT_EQ(report.error().code().value(), EIO) << report.error().to_string();
      EXPECT_THAT(records, IsEmpty());
      return {};
    }
    EXPECT_TRUE(saved() == records);
    EXPECT_EQ(report->records, records.size());
    EXPECT_FALSE(report->ok());
    EXPECT_EQ(report->unreadable_bytes, std::min(end, described.info.file_bytes) - begin);
    std::uint64_t told = 0;
    for (const LostRange& region : report->lost) {
      if (region.reason.find("cannot be read") == std::string::npos) continue;
      told += std::min(end, region.offset + region.bytes) - std::max(begin, region.offset);
    }
    EXPECT_EQ(told, report->unreadable_bytes) << "each of these bytes is in one region that says why";
    return std::move(*report);
  }

  static std::vector<std::pair<std::string, std::string>> files_of(const std::string& folder) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& name : names_left(folder)) {
      std::ifstream file(folder + "/" + name, std::ios::binary);
      files.emplace_back(name, std::string(std::istreambuf_iterator<char>(file), {}));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(RecoverFaultsTest, PagesThatCannotBeReadCostTheBlocksThatTheyTouch) {
  write_dataset(kMany);
  const std::uint64_t bytes = std::filesystem::file_size(shard(0));
  std::uint64_t ranges = 0;
  for (std::uint64_t begin = 0; begin < bytes; begin += kPage) {
    for (std::uint64_t end = begin + kPage; end < bytes + kPage && !HasFailure(); end += kPage, ++ranges) {
      SCOPED_TRACE("unreadable from " + std::to_string(begin) + " to " + std::to_string(end));
      expect_only_touched_blocks_lost(begin, end);
    }
  }
  EXPECT_GT(ranges, 100u);
  RecordProperty("ranges", static_cast<int>(ranges));
}

TEST_F(RecoverFaultsTest, WhatCanBeReadTheSecondTimeIsNotLost) {
  write_dataset(40);
  for (const std::uint64_t begin : {std::uint64_t{0}, 2 * kPage}) {
    const UnreadableBytes bad(shard(0), begin, begin + kPage, 1);
    const RecoverReport report = recover(shard(0), target(), {.overwrite = true}).value();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.unreadable_bytes, 0u);
    EXPECT_EQ(UnreadableBytes::failed_reads(), 1u);
  }
}

TEST_F(RecoverFaultsTest, OfADatasetTheShardsThatCanBeReadAreSaved) {
  write_dataset(40);
  const UnreadableBytes bad(shard(0), 0, 1 << 20);
  const RecoverReport report = recover(source(), target()).value();
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].file, shard(0));
  EXPECT_EQ(report.lost[0].end_record, 40u);
  EXPECT_EQ(report.expected_records, 80u);
  EXPECT_TRUE(saved() == written_records(1000, 40, 900));
}

TEST_F(RecoverFaultsTest, AManifestThatCannotBeReadIsADamagedOne) {
  write_dataset(40);
  for (const std::string& name : {source(), source() + "/manifest.dvt"}) {
    const UnreadableBytes bad(source() + "/manifest.dvt", 0, 1 << 20);
    const RecoverReport report = recover(name, target(), {.overwrite = true}).value();
    ASSERT_THAT(report.lost, SizeIs(1));
    EXPECT_EQ(report.lost[0].file, source() + "/manifest.dvt");
    EXPECT_EQ(report.records, 80u);
  }
}

TEST_F(RecoverFaultsTest, WhereNothingCanBeReadThatIsTheError) {
  write_dataset(40);
  std::filesystem::remove(shard(1));
  before_ = files_of(source());
  for (const std::string& name : {source(), shard(0)}) {
    const UnreadableBytes bad(shard(0), 0, 1 << 20);
    const Result<RecoverReport> report = recover(name, target());
    EXPECT_THAT(report, Fails(ErrorKind::io));
    EXPECT_FALSE(std::filesystem::exists(target()));
  }
}

TEST_F(RecoverFaultsTest, ARecoveryIsRightOrLeavesNothing) {
  write_dataset(10);
  const std::vector<std::string> first = written_records(0, 10, 900);
  std::vector<std::string> all = first;
  for (const std::string& record : written_records(1000, 10, 900)) all.push_back(record);
  for (const bool dataset : {false, true}) {
    const std::vector<std::string>& records = dataset ? all : first;
    std::uint64_t lost = 0;
    bool complete = false;
    const auto work = [&] {
      const Result<RecoverReport> report = recover(dataset ? source() : shard(0), target());
      if (!report) {
        EXPECT_FALSE(report.error().path().empty()) << report.error().to_string();
      }
      complete = report && report->ok();
      if (complete) {
        EXPECT_EQ(report->records, records.size());
      }
      lost += report && !complete ? 1 : 0;
      return complete;
    };
    const std::uint64_t faults = with_every_fault(work, [&](bool good) {
      for (const std::string& name : names_left(folder_.path(""))) {
        if (!name.starts_with('.')) continue;
        EXPECT_TRUE(FaultAt::removal_failed()) << name;
        std::filesystem::remove(folder_.path(name));
      }
      if (std::filesystem::exists(target())) {
        const std::vector<std::string> left = saved();
        if (good) {
          EXPECT_TRUE(left == records);
        }
        auto at = records.begin();
        for (const std::string& record : left) {
          at = std::find(at, records.end(), record);
          ASSERT_NE(at, records.end()) << "a record that is none of them, or out of order";
          ++at;
        }
      }
      // What could not be removed goes with the next one.
      if (std::filesystem::exists(target() + ".partial")) {
        EXPECT_TRUE(FaultAt::removal_failed() || FaultAt::lasted());
      }
      if (dataset) {
        EXPECT_TRUE(recover(source(), target(), {.overwrite = true}));
        EXPECT_TRUE(saved() == records);
        EXPECT_FALSE(std::filesystem::exists(target() + ".partial"));
      }
      std::filesystem::remove_all(target());
    });
    EXPECT_GT(faults, 60 / kFaultStep);
    EXPECT_GT(lost, 10 / kFaultStep);
    RecordProperty(dataset ? "dataset_faults" : "shard_faults", static_cast<int>(faults));
  }
}

}  // namespace
}  // namespace dovetail::test
