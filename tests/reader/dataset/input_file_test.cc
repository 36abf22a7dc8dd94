// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/system/errc.hpp>

#include <dovetail/bytes.h>

#include "tests/reader/dataset/dataset_files.h"

namespace dovetail::detail {
namespace {

using test::TempFolder;
using test::write_file;

std::string read_text(const InputFile& file, std::uint64_t offset, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  file.read(offset, out).value();
  return std::string(as_chars(out));
}

TEST(InputFileTest, ReadsAnyRange) {
  TempFolder folder;
  write_file(folder.file("a"), "0123456789");
  const InputFile file = InputFile::open(folder.file("a")).value();
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.path(), folder.file("a"));
  EXPECT_EQ(read_text(file, 0, 10), "0123456789");
  EXPECT_EQ(read_text(file, 9, 1), "9");
  EXPECT_EQ(read_text(file, 10, 0), "");
}

TEST(InputFileTest, TimesFarAheadAreTimesLikeOthers) {
  TempFolder folder;
  write_file(folder.file("a"), "0123456789");
  const auto set_time = [&](std::int64_t seconds) {
    const std::array<timespec, 2> times{{{seconds, 5}, {seconds, 5}}};
    return ::utimensat(AT_FDCWD, folder.file("a").c_str(), times.data(), 0);
  };
  ASSERT_EQ(set_time(15'000'000'000), 0);  // in the year 2445: more nanoseconds than 63 bits hold
  const InputFile file = InputFile::open(folder.file("a")).value();
  EXPECT_TRUE(file.check_unchanged());
  ASSERT_EQ(set_time(14'999'999'999), 0);
  EXPECT_FALSE(file.check_unchanged());
}

TEST(InputFileTest, ReadingPastTheEndNamesFileAndOffset) {
  TempFolder folder;
  write_file(folder.file("a"), "0123456789");
  const InputFile file = InputFile::open(folder.file("a")).value();
  std::array<std::byte, 8> out{};
  const auto read = file.read(6, out);
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().is(Errc::truncated));
  EXPECT_EQ(read.error().path(), folder.file("a"));
  EXPECT_EQ(read.error().offset(), 10u);
}

TEST(InputFileTest, OffsetsBeyondTheSystemsRangeAreTruncation) {
  TempFolder folder;
  write_file(folder.file("a"), "0123456789");
  const InputFile file = InputFile::open(folder.file("a")).value();
  std::array<std::byte, 8> out{};
  for (const std::uint64_t offset : {~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 4}) {
    const auto read = file.read(offset, out);
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().is(Errc::truncated)) << offset;
  }
}

TEST(InputFileTest, AFileThatShrinksHasChanged) {
  TempFolder folder;
  write_file(folder.file("a"), "0123456789");
  const InputFile file = InputFile::open(folder.file("a")).value();
  EXPECT_TRUE(file.check_unchanged());
  std::filesystem::resize_file(folder.file("a"), 4);
  std::array<std::byte, 8> out{};
  const auto read = file.read(0, out);
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().is(Errc::file_changed));
  EXPECT_EQ(read.error().offset(), 4u);
  EXPECT_FALSE(file.check_unchanged());
}

TEST(InputFileTest, AReplacedFileHasAnotherIdentity) {
  TempFolder folder;
  write_file(folder.file("a"), "0123456789");
  write_file(folder.file("b"), "0123456789");
  const InputFile before = InputFile::open(folder.file("a")).value();
  std::filesystem::rename(folder.file("b"), folder.file("a"));
  const InputFile after = InputFile::open(folder.file("a")).value();
  EXPECT_NE(before.identity(), after.identity());
  EXPECT_TRUE(before.check_unchanged());
}

TEST(InputFileTest, FoldersAndMissingFilesAreTheSystemsErrors) {
  TempFolder folder;
  const auto is_folder = InputFile::open(folder.path());
  ASSERT_FALSE(is_folder);
  EXPECT_EQ(is_folder.error().code(), boost::system::errc::is_a_directory);
  EXPECT_EQ(is_folder.error().path(), folder.path());
  const auto missing = InputFile::open(folder.file("nothing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), boost::system::errc::no_such_file_or_directory);
  EXPECT_EQ(missing.error().kind(), ErrorKind::io);
}

TEST(InputFileTest, PipesAndDevicesAreRefusedWithoutWaiting) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.file("pipe"), std::string("/dev/zero")}) {
    const auto file = InputFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_TRUE(file.error().is(Errc::unknown_format)) << path;
  }
}

TEST(InputFileTest, MovingHandsTheDescriptorOn) {
  TempFolder folder;
  write_file(folder.file("a"), "aaa");
  write_file(folder.file("b"), "bbb");
  InputFile a = InputFile::open(folder.file("a")).value();
  InputFile b = std::move(a);
  EXPECT_EQ(read_text(b, 0, 3), "aaa");
  b = InputFile::open(folder.file("b")).value();
  EXPECT_EQ(read_text(b, 0, 3), "bbb");
  EXPECT_EQ(b.path(), folder.file("b"));
}

TEST(InputFileTest, DroppingTheCacheLosesNothing) {
  TempFolder folder;
  write_file(folder.file("a"), std::string(10000, 'x'));
  const InputFile file = InputFile::open(folder.file("a")).value();
  file.drop_cache(5000, 100);
  file.drop_cache(0, 0);
  EXPECT_EQ(read_text(file, 0, 10000), std::string(10000, 'x'));
}

}  // namespace
}  // namespace dovetail::detail
