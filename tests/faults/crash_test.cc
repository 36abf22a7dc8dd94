// SPDX-License-Identifier: Apache-2.0
// What a crash of the machine leaves of a file or dataset that was being written, behind each call of the system: with what was
// not synced gone, there, or there in part.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "tests/faults/recorded_calls.h"
#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail {
namespace {

using testing::LeftFiles;
using testing::RecordedCall;

LeftFiles files_in(const std::string& folder) {
  LeftFiles files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::stringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename()] = bytes.str();
  }
  return files;
}

bool looks_finished(const std::string& name) {
  return name.front() != '.';
}

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() { std::filesystem::create_directory(target()); }

  std::string target() const { return folder_.path("target"); }
  std::string after() const { return folder_.path("after"); }

  /// Puts the files where they can be looked at.
  void materialise(const LeftFiles& files) {
    std::filesystem::remove_all(after());
    std::filesystem::create_directory(after());
    for (const auto& [name, bytes] : files) std::ofstream(after() + "/" + name, std::ios::binary) << bytes;
  }

  /// Looks at everything that a crash could leave behind each call.
  template <class Look>
  void behind_every_call(const LeftFiles& before, const std::vector<RecordedCall>& calls, Look look) {
    for (std::size_t count = 0; count <= calls.size(); ++count) {
      for (const LeftFiles& files : left_by_crash(before, calls, count)) {
        materialise(files);
        look(files);
        if (HasFailure()) {
          std::string names;
          for (const auto& [name, bytes] : files) names += ' ' + name + ':' + std::to_string(bytes.size());
          FAIL() << "behind call " << count << " of " << calls.size() << ":" << names;
        }
      }
    }
  }

  void write_dataset(const std::vector<std::string>& records, bool overwrite) {
    DatasetWriterOptions options;
    options.shard_bytes = 12'000;
    options.encode_threads = 2;
    options.shard.block_bytes = 4096;
    options.shard.overwrite = overwrite;
    DatasetWriter writer = DatasetWriter::create(target(), options).value();
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    writer.finish().value();
  }

  testing::TempFolder folder_;
};

TEST_F(CrashTest, AShardIsWholeOrHasNoName) {
  const std::vector<std::string> records = testing::written_records(0, 40);
  const std::vector<RecordedCall> calls = testing::record_calls(target(), [&] {
    RecordWriter writer = RecordWriter::create(target() + "/s.dvt", {.block_bytes = 4096}).value();
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    writer.finish().value();
  });
  ASSERT_GE(calls.size(), 5u) << "made, written, synced, named, and the name synced";
  std::uint64_t finished = 0;
  behind_every_call({}, calls, [&](const LeftFiles& files) {
    for (const auto& [name, bytes] : files) {
      if (!looks_finished(name)) continue;
      EXPECT_TRUE(verify(after() + "/" + name).value().ok());
      ++finished;
    }
  });
  EXPECT_GT(finished, 0u);
  materialise(left_by_crash({}, calls, calls.size()).front());
  EXPECT_EQ(left_by_crash({}, calls, calls.size()).size(), 1u) << "a finished shard is durable in every way";
  EXPECT_TRUE(verify(after() + "/s.dvt").value().ok());
}

TEST_F(CrashTest, ADatasetWithAManifestIsWhole) {
  const std::vector<std::string> records = testing::written_records(0, 40);
  const std::vector<RecordedCall> calls = testing::record_calls(target(), [&] { write_dataset(records, false); });
  std::uint64_t whole = 0;
  behind_every_call({}, calls, [&](const LeftFiles& files) {
    for (const auto& [name, bytes] : files) {
      if (!looks_finished(name)) continue;
      EXPECT_TRUE(verify(after() + "/" + name).value().ok()) << name;
    }
    if (!files.contains("manifest.dvt")) return;
    EXPECT_TRUE(verify(after()).value().ok());
    EXPECT_EQ(testing::records_left(after()), records);
    ++whole;
  });
  EXPECT_GT(whole, 0u);
  EXPECT_EQ(left_by_crash({}, calls, calls.size()).size(), 1u) << "a finished dataset is durable in every way";
}

TEST_F(CrashTest, ADatasetThatReplacesAnotherIsThereOrTheOtherIsOrNone) {
  const std::vector<std::string> old_records = testing::written_records(500, 50);
  const std::vector<std::string> records = testing::written_records(0, 30);
  write_dataset(old_records, false);
  const LeftFiles before = files_in(target());
  const std::vector<RecordedCall> calls = testing::record_calls(target(), [&] { write_dataset(records, true); });
  std::uint64_t old_ones = 0;
  std::uint64_t new_ones = 0;
  behind_every_call(before, calls, [&](const LeftFiles& files) {
    if (!files.contains("manifest.dvt")) return;
    EXPECT_TRUE(verify(after()).value().ok());
    const std::vector<std::string> found = testing::records_left(after());
    if (found == old_records) {
      ++old_ones;
    } else {
      EXPECT_EQ(found, records);
      ++new_ones;
    }
  });
  EXPECT_GT(old_ones, calls.size() / 2);
  EXPECT_GT(new_ones, 0u);
}

}  // namespace
}  // namespace dovetail
