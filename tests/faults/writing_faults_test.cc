// SPDX-License-Identifier: Apache-2.0
// Writing while the n-th call of the system fails, or the process is killed there, for every n
// until a run passes untouched: nothing that looks finished is not.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "tests/faults/exchange_refused.h"
#include "tests/faults/system_faults.h"
#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kRecords = 90;

Result<DatasetInfo> write_dataset(const std::string& folder, const std::vector<std::string>& records, bool overwrite) {
  DatasetWriterOptions options{
      .shard = {.block_bytes = 4096, .overwrite = overwrite}, .shard_bytes = 40'000, .encode_threads = 2};
  return test::write_dataset(folder, records, options);
}

class WritingFaultsTest : public FolderTest {
 protected:
  std::string target() const { return folder_.path("target"); }

  /// When the system works again, nothing stays, except a lock that could not be examined.
  void expect_nothing_staged() const {
    if (FaultAt::removal_failed() || FaultAt::lasted()) return;
    EXPECT_THAT(names_left(target() + ".partial"), AnyOf(IsEmpty(), ElementsAre(".dovetail-lock")));
  }

  /// Whatever an error has left, another dataset can be written there, and it alone is there then.
  void expect_next_writer_succeeds() const {
    const auto written = write_dataset(target(), next_, true);
    ASSERT_TRUE(written.has_value()) << written.error().to_string();
    EXPECT_TRUE(records_left(target()) == next_);
    EXPECT_THAT(names_left(target()), UnorderedElementsAre("manifest.dvt", "shard-000000.dvt"));
    EXPECT_THAT(names_left(folder_.path()), ElementsAre("target"));
  }

  const std::vector<std::string> next_ = written_records(900, 2);
};

TEST_F(WritingFaultsTest, AShardIsWholeOrNotThere) {
  std::filesystem::create_directory(target());
  const std::vector<std::string> records = written_records(0, kRecords);
  const auto work = [&] {
    WriterOptions options{.block_bytes = 4096};
    Result<RecordWriter> writer = RecordWriter::create(target() + "/s.dvt", options);
    if (!writer.has_value()) return false;
    for (const std::string& record : records) {
      if (!writer->append(as_bytes(record)).has_value()) return false;
    }
    return writer->finish().has_value();
  };
  const std::uint64_t faults = with_every_fault(work, [&](bool good) {
    if (good) {
      EXPECT_THAT(names_left(target()), UnorderedElementsAre("s.dvt"));
      EXPECT_TRUE(records_left(target() + "/s.dvt") == records);
    } else {
      if (!FaultAt::removal_failed()) {
        EXPECT_THAT(names_left(target()), IsEmpty());
      }
      for (const std::string& name : names_left(target())) {
        EXPECT_TRUE(name.starts_with('.') || verify(target() + "/" + name).value().ok()) << name;
      }
    }
    std::filesystem::remove_all(target());
    std::filesystem::create_directory(target());
  });
  EXPECT_GT(faults, 30 / kFaultStep);
  count_faults(faults);
}

TEST_F(WritingFaultsTest, AShardThatReplacesAnotherIsThereOrTheOtherIs) {
  std::filesystem::create_directory(target());
  const std::string path = target() + "/s.dvt";
  const std::vector<std::string> before = written_records(500, kRecords);
  const std::vector<std::string> records = written_records(0, kRecords);
  const auto write = [&](const std::vector<std::string>& written) {
    WriterOptions options{.overwrite = true};
    Result<RecordWriter> writer = RecordWriter::create(path, options);
    if (!writer.has_value()) return false;
    for (const std::string& record : written) {
      if (!writer->append(as_bytes(record)).has_value()) return false;
    }
    return writer->finish().has_value();
  };
  ASSERT_TRUE(write(before));
  const std::uint64_t faults = with_every_fault([&] { return write(records); },
                                                [&](bool good) {
                                                  const std::vector<std::string> left = records_left(path);
                                                  EXPECT_TRUE(left == records || (!good && left == before))
                                                      << left.size() << " records";
                                                  std::filesystem::remove_all(target());
                                                  std::filesystem::create_directory(target());
                                                  ASSERT_TRUE(write(before));
                                                });
  EXPECT_GT(faults, 10 / kFaultStep);
  count_faults(faults);
}

TEST_F(WritingFaultsTest, ADatasetIsWholeOrNotThere) {
  const std::vector<std::string> records = written_records(0, kRecords);
  const auto work = [&] { return write_dataset(target(), records, false).has_value(); };
  const auto settle = [&](bool good) {
    EXPECT_TRUE((!good && !std::filesystem::exists(target())) || records_left(target()) == records);
    expect_no_part_opens(target() + ".partial");
  };
  const auto restart = [&] {
    expect_next_writer_succeeds();
    std::filesystem::remove_all(target());
  };
  const std::uint64_t faults = with_every_fault(work, [&](bool good) {
    settle(good);
    if (!std::filesystem::exists(target())) expect_nothing_staged();
    restart();
  });
  EXPECT_GT(faults, 100 / kFaultStep);
  count_faults(faults);
  count_faults(with_every_kill(work,
                               [&](bool ended) {
                                 settle(ended);
                                 restart();
                               }),
               "kills");
}

TEST_F(WritingFaultsTest, ADatasetThatReplacesAnotherIsThereOrTheOtherIs) {
  const std::vector<std::string> before = written_records(500, kRecords);
  const std::vector<std::string> records = written_records(0, kRecords);
  const auto work = [&] { return write_dataset(target(), records, true).has_value(); };
  for (const bool exchanges : {true, false}) {
    std::optional<ExchangeRefused> refused;
    if (!exchanges) refused.emplace();
    ASSERT_TRUE(write_dataset(target(), before, true).has_value());
    std::uint64_t kept = 0;
    std::uint64_t absent = 0;
    const auto settle = [&](bool good) {
      if (!good && !exchanges && !std::filesystem::exists(target())) {
        ++absent;
        EXPECT_FALSE(write_dataset(target(), next_, false).has_value()) << "what was there is put back";
      }
      const std::vector<std::string> left = records_left(target());
      EXPECT_TRUE(left == records || (!good && left == before)) << left.size() << " records";
      kept += left == before ? 1 : 0;
      for (const char* beside : {".partial", ".replaced"}) {
        expect_no_part_opens(target() + beside);
      }
    };
    const auto restart = [&] {
      expect_next_writer_succeeds();
      ASSERT_TRUE(write_dataset(target(), before, true).has_value());
    };
    const std::uint64_t faults = with_every_fault(work, [&](bool good) {
      settle(good);
      if (!good && exchanges && records_left(target()) == before) expect_nothing_staged();
      restart();
    });
    EXPECT_GT(faults, 100 / kFaultStep);
    count_faults(faults);
    EXPECT_GT(kept, faults / 4) << "what was there goes only once the new one is written";
    EXPECT_TRUE(exchanges ? absent == 0 : absent > 0 || kFaultStep > 1) << absent;  // between two calls
    count_faults(with_every_kill(work,
                                 [&](bool ended) {
                                   settle(ended);
                                   restart();
                                 }),
                 "kills");
  }
}

}  // namespace
}  // namespace dovetail::test
