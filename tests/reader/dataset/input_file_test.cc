// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <boost/system/errc.hpp>

#include <dovetail/bytes.h>

#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::detail {
namespace {

using test::write_file;

std::string read_text(const InputFile& file, std::uint64_t offset, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  file.read(offset, out).value();
  return std::string(as_chars(out));
}

using InputFileTest = test::FolderTest;

TEST_F(InputFileTest, ReadsAnyRange) {
  write_file(folder_.path("a"), "0123456789");
  const InputFile file = InputFile::open(folder_.path("a")).value();
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.path(), folder_.path("a"));
  EXPECT_EQ(read_text(file, 0, 10), "0123456789");
  EXPECT_EQ(read_text(file, 9, 1), "9");
  EXPECT_EQ(read_text(file, 10, 0), "");
}

TEST_F(InputFileTest, TimesFarAheadAreTimesLikeOthers) {
  write_file(folder_.path("a"), "0123456789");
  const auto set_time = [&](std::int64_t seconds) {
    const std::array<timespec, 2> times{{{seconds, 5}, {seconds, 5}}};
    return ::utimensat(AT_FDCWD, folder_.path("a").c_str(), times.data(), 0);
  };
  ASSERT_EQ(set_time(15'000'000'000), 0);  // in the year 2445: more nanoseconds than 63 bits hold
  const InputFile file = InputFile::open(folder_.path("a")).value();
  EXPECT_TRUE(file.check_unchanged());
  ASSERT_EQ(set_time(14'999'999'999), 0);
  EXPECT_FALSE(file.check_unchanged());
}

TEST_F(InputFileTest, ReadingPastTheEndNamesFileAndOffset) {
  write_file(folder_.path("a"), "0123456789");
  const InputFile file = InputFile::open(folder_.path("a")).value();
  std::array<std::byte, 8> out{};
  EXPECT_THAT(file.read(6, out), test::Fails(Errc::truncated).in(folder_.path("a")).at(10u));
}

TEST_F(InputFileTest, OffsetsBeyondTheSystemsRangeAreTruncation) {
  write_file(folder_.path("a"), "0123456789");
  const InputFile file = InputFile::open(folder_.path("a")).value();
  std::array<std::byte, 8> out{};
  for (const std::uint64_t offset : {~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 4}) {
    EXPECT_THAT(file.read(offset, out), test::Fails(Errc::truncated)) << offset;
  }
}

TEST_F(InputFileTest, AFileThatShrinksHasChanged) {
  write_file(folder_.path("a"), "0123456789");
  const InputFile file = InputFile::open(folder_.path("a")).value();
  EXPECT_TRUE(file.check_unchanged());
  std::filesystem::resize_file(folder_.path("a"), 4);
  std::array<std::byte, 8> out{};
  EXPECT_THAT(file.read(0, out), test::Fails(Errc::file_changed).at(4u));
  EXPECT_FALSE(file.check_unchanged());
}

TEST_F(InputFileTest, AFileThatIsReplacedStaysTheOneThatWasOpened) {
  write_file(folder_.path("a"), "0123456789");
  write_file(folder_.path("b"), "0123456789");
  const InputFile file = InputFile::open(folder_.path("a")).value();
  std::filesystem::rename(folder_.path("b"), folder_.path("a"));
  EXPECT_TRUE(file.check_unchanged());
}

TEST_F(InputFileTest, FoldersAndMissingFilesAreTheSystemsErrors) {
  EXPECT_THAT(InputFile::open(folder_.path()), test::Fails(boost::system::errc::is_a_directory).in(folder_.path()));
  EXPECT_THAT(InputFile::open(folder_.path("nothing")),
              test::Fails(boost::system::errc::no_such_file_or_directory).of(ErrorKind::io));
}

TEST_F(InputFileTest, PipesAndDevicesAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder_.path("pipe"), std::string("/dev/zero")}) {
    EXPECT_THAT(InputFile::open(path), test::Fails(Errc::unknown_format)) << path;
  }
}

TEST_F(InputFileTest, MovingHandsTheDescriptorOn) {
  write_file(folder_.path("a"), "aaa");
  write_file(folder_.path("b"), "bbb");
  InputFile a = InputFile::open(folder_.path("a")).value();
  InputFile b = std::move(a);
  EXPECT_EQ(read_text(b, 0, 3), "aaa");
  b = InputFile::open(folder_.path("b")).value();
  EXPECT_EQ(read_text(b, 0, 3), "bbb");
  EXPECT_EQ(b.path(), folder_.path("b"));
}

TEST_F(InputFileTest, DroppingTheCacheLosesNothing) {
  write_file(folder_.path("a"), std::string(10000, 'x'));
  const InputFile file = InputFile::open(folder_.path("a")).value();
  file.drop_cache(5000, 100);
  file.drop_cache(0, 0);
  EXPECT_EQ(read_text(file, 0, 10000), std::string(10000, 'x'));
}

}  // namespace
}  // namespace dovetail::detail
