// SPDX-License-Identifier: Apache-2.0
// What a crash of the machine leaves of a file or dataset that was being written, behind each call
// of the system: with what was not synced gone, there, or there in part.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "tests/faults/exchange_refused.h"
#include "tests/faults/recorded_calls.h"
#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;
using Records = std::vector<std::string>;

Result<DatasetInfo> try_to_write(const std::string& folder, const Records& records, bool overwrite) {
  DatasetWriterOptions options{
      .shard = {.block_bytes = 2048, .overwrite = overwrite}, .shard_bytes = 4'000, .encode_threads = 2};
  return write_dataset(folder, records, options);
}

class CrashTest : public FolderTest {
 protected:
  CrashTest() { fs::create_directory(disk()); }

  std::string disk() const { return folder_.path("disk"); }
  std::string target() const { return disk() + "/target"; }
  std::string after() const { return folder_.path("after"); }
  std::string target_after() const { return after() + "/target"; }

  Recording record_dataset(const Records& records, bool overwrite) const {
    return record_calls(disk(), [&] { try_to_write(target(), records, overwrite).value(); });
  }

  /// Puts the files where they can be looked at. What is told apart by its number has another one
  /// there.
  void materialise(const LeftFiles& files) const {
    fs::remove_all(after());
    fs::create_directory(after());
    std::map<std::string, std::string> numbers;  // of folders
    for (const auto& [name, bytes] : files) {
      if (!name.ends_with('/')) continue;
      fs::create_directory(after() + '/' + name);
      struct stat status {};
      ASSERT_EQ(::stat((after() + '/' + name).c_str(), &status), 0);
      numbers[bytes] = std::to_string(status.st_ino);
    }
    for (const auto& [name, bytes] : files) {
      if (name.ends_with('/')) continue;
      const auto number = name.ends_with("/.dovetail-lock") ? numbers.find(bytes) : numbers.end();
      std::ofstream(after() + '/' + name, std::ios::binary) << (number == numbers.end() ? bytes : number->second);
    }
  }

  /// Looks at everything that a crash could leave behind each call.
  template <class Look>
  void behind_every_call(const Recording& recording, Look look) {
    std::set<LeftFiles> seen;
    for (std::size_t count = 0; count <= recording.calls.size(); ++count) {
      for (const LeftFiles& files : left_by_crash(recording, count)) {
        if (!seen.insert(files).second) continue;
        materialise(files);
        for (const char* beside : {".partial", ".replaced"}) {
          expect_no_part_opens(target_after() + beside);
        }
        look(files);
        if (HasFailure()) {
          std::string names;
          for (const auto& [name, bytes] : files) names += ' ' + name + ':' + std::to_string(bytes.size());
          FAIL() << "behind call " << count << " of " << recording.calls.size() << ":" << names;
        }
      }
    }
    std::cout << recording.calls.size() << " calls, " << seen.size() << " states" << std::endl;
  }

  /// Whatever a crash has left, another dataset can be written there, and it alone is there then.
  void expect_next_writer_succeeds() const {
    const auto written = try_to_write(target_after(), next_, true);
    ASSERT_TRUE(written) << written.error().to_string();
    EXPECT_TRUE(records_left(target_after()) == next_);
    EXPECT_EQ(names_left(target_after()).size(), written->shards.size() + 1);
    EXPECT_THAT(names_left(after()), ::testing::ElementsAre("target"));
  }

  /// Behind each call the target is one dataset or the other. Where it may also be absent, the next
  /// writer puts the old one back.
  void expect_old_or_new(const Recording& recording, bool may_be_absent) {
    std::uint64_t old_ones = 0;
    std::uint64_t new_ones = 0;
    std::uint64_t absent = 0;
    behind_every_call(recording, [&](const LeftFiles& files) {
      if (may_be_absent && !files.contains("target/")) {
        ++absent;
        EXPECT_THAT(try_to_write(target_after(), next_, false), Fails(Errc::already_exists));
        EXPECT_TRUE(records_left(target_after()) == old_);
      }
      const Records found = records_left(target_after());
      EXPECT_TRUE(found == old_ || found == new_) << found.size() << " records";
      ++(found == old_ ? old_ones : new_ones);
      expect_next_writer_succeeds();
    });
    EXPECT_GT(old_ones, recording.calls.size() / 2);
    EXPECT_GT(new_ones, 10u) << "until what was replaced is removed";
    EXPECT_EQ(absent > 0, may_be_absent);
    for (const LeftFiles& files : left_by_crash(recording, recording.calls.size())) {
      materialise(files);
      EXPECT_TRUE(records_left(target_after()) == new_) << "a finished dataset is durable";
    }
  }

  const Records old_ = written_records(500, 50, 1000);
  const Records new_ = written_records(0, 30, 1000);
  const Records next_ = written_records(800, 3, 1000);
};

TEST_F(CrashTest, AShardIsWholeOrHasNoName) {
  fs::create_directory(target());
  const Records records = written_records(0, 40);
  const Recording recording = record_calls(disk(), [&] {
    RecordWriter writer = RecordWriter::create(target() + "/s.dvt", {.block_bytes = 4096}).value();
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    writer.finish().value();
  });
  ASSERT_GE(recording.calls.size(), 5u) << "made, written, synced, named, and the name synced";
  std::uint64_t finished = 0;
  behind_every_call(recording, [&](const LeftFiles& files) {
    if (!files.contains("target/s.dvt")) return;
    EXPECT_TRUE(verify(target_after() + "/s.dvt").value().ok());
    ++finished;
  });
  EXPECT_GT(finished, 0u);
  const std::vector<LeftFiles> last = left_by_crash(recording, recording.calls.size());
  EXPECT_EQ(last.size(), 1u) << "a finished shard is durable in every way";
  EXPECT_TRUE(last.front().contains("target/s.dvt"));
}

TEST_F(CrashTest, ADatasetIsWholeOrNotThere) {
  const Recording recording = record_dataset(new_, false);
  std::uint64_t whole = 0;
  behind_every_call(recording, [&](const LeftFiles& files) {
    if (files.contains("target/")) {
      EXPECT_TRUE(records_left(target_after()) == new_);
      ++whole;
    }
    expect_next_writer_succeeds();
  });
  EXPECT_GT(whole, 0u);
  for (const LeftFiles& files : left_by_crash(recording, recording.calls.size())) {
    EXPECT_TRUE(files.contains("target/manifest.dvt")) << "a finished dataset is durable";
  }
}

TEST_F(CrashTest, ADatasetThatReplacesAnotherIsThereOrTheOtherIs) {
  try_to_write(target(), old_, false).value();
  expect_old_or_new(record_dataset(new_, true), false);
}

TEST_F(CrashTest, WhereNothingCanBeExchangedTheOldDatasetComesBack) {
  const ExchangeRefused refused;
  try_to_write(target(), old_, false).value();
  expect_old_or_new(record_dataset(new_, true), true);
}

}  // namespace
}  // namespace dovetail::test
