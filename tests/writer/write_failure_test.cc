// SPDX-License-Identifier: Apache-2.0
// What is left behind when writing fails or the process dies: nothing that looks finished.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_writer.h>

#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/mounted.h"
#include "tests/support/spawned.h"

extern char** environ;

namespace dovetail::test {
namespace {

/// Lets no file of this process grow above a size while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

// Appends until an error comes; the last record does not compress.
template <class Writer>
Error fill(Writer& writer) {
  const std::string record = noise(100'000, 1);
  for (int i = 0; i < 1000; ++i) {
    if (auto appended = writer.append(as_bytes(record)); !appended) return appended.error();
  }
  const auto finished = writer.finish();
  return finished ? Error() : finished.error();
}

using WriteFailureTest = FolderTest;

TEST_F(WriteFailureTest, AFileTooLargeForTheProcessEndsTheShardForGood) {
  const FileSizeLimit limit(3 << 20);
  RecordWriter writer = RecordWriter::create(folder_ / "s.dvt").value();
  const Error error = fill(writer);
  EXPECT_EQ(error.code(), boost::system::errc::file_too_large);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.path(), folder_ / "s.dvt");
  EXPECT_EQ(error.offset(), 3u << 20) << "where the bytes no longer went";
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
  EXPECT_EQ(writer.append("").error().to_string(), error.to_string()) << "the first failure is final";
  EXPECT_EQ(writer.finish().error().to_string(), error.to_string());
}

TEST_F(WriteFailureTest, AFileTooLargeForTheProcessEndsTheDatasetForGood) {
  const FileSizeLimit limit(3 << 20);
  DatasetWriterOptions options;
  options.shard_bytes = 2 << 20;  // some shards are whole before one fails
  options.encode_threads = 2;
  DatasetWriter writer = DatasetWriter::create(folder_ / "data", options).value();
  ASSERT_TRUE(writer.append(as_bytes("small")));
  ASSERT_TRUE(writer.next_shard());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(writer.append(as_bytes(noise(100'000, 2))));
  const std::string large = noise(4 << 20, 3);
  Result<void> appended = writer.append(as_bytes(large));
  const auto finished = writer.finish();
  ASSERT_THAT(finished, Fails(boost::system::errc::file_too_large));
  EXPECT_THAT(finished.error().path(), StartsWith(folder_ / "data.partial/shard-"));
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(WriteFailureTest, AFullDiskLeavesNothingOfAShard) {
  const auto disk = Mounted::small_disk(folder_ / "disk");
  if (disk.error() != 0) GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(disk.error());
  RecordWriter writer = RecordWriter::create(folder_ / "disk/s.dvt").value();
  const Error error = fill(writer);
  EXPECT_EQ(error.code(), boost::system::errc::no_space_on_device);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_TRUE(error.offset().has_value());
  EXPECT_THAT(names_in(folder_ / "disk"), IsEmpty());
}

TEST_F(WriteFailureTest, AFullDiskLeavesTheOldDatasetWhole) {
  const auto disk = Mounted::small_disk(folder_ / "disk");
  if (disk.error() != 0) GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(disk.error());
  DatasetWriterOptions options{.shard_bytes = 300'000};
  const std::string data = folder_ / "disk/data";
  DatasetWriter old = DatasetWriter::create(data, options).value();
  ASSERT_TRUE(old.append(as_bytes("old")));
  ASSERT_TRUE(old.finish());
  const auto before = names_in(data);

  options.shard.overwrite = true;
  DatasetWriter writer = DatasetWriter::create(data, options).value();
  EXPECT_EQ(fill(writer).code(), boost::system::errc::no_space_on_device);
  EXPECT_EQ(names_in(data), before);
  EXPECT_THAT(names_in(folder_ / "disk"), ElementsAre("data"));
  EXPECT_EQ(read_dataset(data).records, Records{"old"});
}

TEST_F(WriteFailureTest, AVanishedFolderIsAnErrorAtTheEnd) {
  std::filesystem::create_directory(folder_ / "gone");
  RecordWriter writer = RecordWriter::create(folder_ / "gone/s.dvt").value();
  std::filesystem::remove_all(folder_ / "gone");
  EXPECT_THAT(writer.finish(), Fails(ErrorKind::io).in(folder_ / "gone/s.dvt"));
}

/// Runs the endless writer until its files hold some bytes, and kills it.
void kill_while_writing(const std::string& kind, const std::string& target, const std::string& folder) {
  const pid_t child = spawn(DOVETAIL_ENDLESS_WRITER, {kind, target});
  ASSERT_GT(child, 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::uintmax_t bytes = 0;
  while (bytes < (1 << 20) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    bytes = 0;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) bytes += entry.file_size(missing);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
  EXPECT_GE(bytes, 1u << 20) << "the writer wrote nothing in time";
}

TEST_F(WriteFailureTest, AKilledShardWriterLeavesOnlyAPartialFile) {
  kill_while_writing("shard", folder_ / "s.dvt", folder_.path());
  const auto names = names_in(folder_.path());
  ASSERT_EQ(names.size(), 1u);
  EXPECT_THAT(names, Each(StartsWith(".s.dvt.partial-")));
  const Bytes bytes = read_file(folder_ / names.front());
  EXPECT_THAT(read_shard(bytes), Fails(Errc::unfinished));
}

TEST_F(WriteFailureTest, WhatAKilledDatasetWriterLeavesGoesWithTheNextOne) {
  const std::string staged = folder_ / "data.partial";
  kill_while_writing("dataset", folder_ / "data", staged);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data.partial"));
  EXPECT_THAT(names_in(staged), Contains(StartsWith(".shard-")));
  EXPECT_THAT(names_in(staged), Each(AnyOf(".dovetail-lock", StartsWith(".shard-"), StartsWith("shard-"))));
  for (const std::string& name : names_in(staged)) {
    if (name.front() == '.') continue;
    EXPECT_NO_THROW(read_shard_file(staged + '/' + name)) << name;
  }
  DatasetWriter next = DatasetWriter::create(folder_ / "data").value();
  EXPECT_THAT(names_in(staged), ElementsAre(".dovetail-lock"));
  ASSERT_TRUE(next.finish());
  EXPECT_THAT(names_in(folder_ / "data"), ElementsAre("manifest.dvt"));
}

}  // namespace
}  // namespace dovetail::test
