// SPDX-License-Identifier: Apache-2.0
#include "writer/output_file.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"

namespace {

using Range = std::pair<std::int64_t, std::int64_t>;  // its begin and its end

// The ranges that storage was told to write back. The program is linked with --wrap.
std::mutex mutex;
std::vector<Range> written_back;

}  // namespace

extern "C" int __real_sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags);
extern "C" int __wrap_sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  const std::lock_guard lock(mutex);
  written_back.emplace_back(offset, offset + bytes);
  return __real_sync_file_range(file, offset, bytes, flags);
}

namespace dovetail::detail {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class OutputFileTest : public test::FolderTest {
 protected:
  OutputFile create(const std::string& name) { return OutputFile::create(target_, name).value(); }
  std::vector<std::string> names() const { return test::names_in(folder_.path()); }
  std::string content(const std::string& name) const {
    const test::Bytes bytes = test::read_file(folder_ / name);
    return std::string(as_chars(bytes));
  }

  std::shared_ptr<const OutputFolder> target_ = OutputFolder::open(folder_.path()).value();
};

TEST_F(OutputFileTest, HasItsNameOnlyAfterCommit) {
  OutputFile file = create("data");
  ASSERT_TRUE(file.write(as_bytes("abc")));
  EXPECT_THAT(names(), ElementsAre(StartsWith(".data.partial-" + std::to_string(::getpid()) + "-")));
  ASSERT_TRUE(file.write(as_bytes("def")));
  ASSERT_TRUE(file.commit(false));
  EXPECT_THAT(names(), ElementsAre("data"));
  EXPECT_EQ(content("data"), "abcdef");
  EXPECT_EQ(file.size(), 6u);
}

TEST_F(OutputFileTest, StorageWritesLongFilesWhileTheyGrow) {
  constexpr std::size_t kPiece = (std::size_t{1} << 20) + 1000;
  const std::string bytes(kPiece, 'x');
  OutputFile file = create("data");
  written_back.clear();
  for (int piece = 0; piece != 5; ++piece) ASSERT_TRUE(file.write(as_bytes(bytes)));
  // Each byte once, in whole pages.
  EXPECT_THAT(written_back, ElementsAre(Range(0, 2 << 20), Range(2 << 20, 4 << 20)));
  ASSERT_TRUE(file.commit(false));
  EXPECT_EQ(content("data").size(), 5 * kPiece);
}

TEST_F(OutputFileTest, ShortFilesWaitForTheSync) {
  OutputFile file = create("data");
  written_back.clear();
  ASSERT_TRUE(file.write(as_bytes(std::string((2 << 20) - 1, 'x'))));
  ASSERT_TRUE(file.commit(false));
  EXPECT_THAT(written_back, IsEmpty());
}

TEST_F(OutputFileTest, ALongNameKeepsItsBeginningAndItsEndInThePartialOne) {
  const std::string name = "begin" + std::string(236, 'x') + "-00017.dvt";  // as long as names may be
  ASSERT_EQ(name.size(), 251u);
  OutputFile file = create(name);
  EXPECT_THAT(names(), ElementsAre(AllOf(StartsWith(".beginx"), HasSubstr("x-00017.dvt.partial-"))));
  ASSERT_TRUE(file.commit(false));
  EXPECT_THAT(names(), ElementsAre(name));
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    OutputFile file = create("data");
    ASSERT_TRUE(file.write(as_bytes("abc")));
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, LeavesNothingOfASyncedFileThatIsNotPublished) {
  {
    OutputFile file = create("data");
    ASSERT_TRUE(file.sync());
    EXPECT_EQ(names().size(), 1u);
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, StaysAfterCommit) {
  {
    OutputFile file = create("data");
    ASSERT_TRUE(file.commit(false));
  }
  EXPECT_THAT(names(), ElementsAre("data"));
}

TEST_F(OutputFileTest, IsRemovedByDiscardEvenWhenPublished) {
  OutputFile file = create("data");
  ASSERT_TRUE(file.commit(false));
  file.discard();
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, MovesWithItsFile) {
  OutputFile first = create("first");
  OutputFile second = create("second");
  OutputFile moved = std::move(first);
  moved = std::move(second);
  ASSERT_TRUE(moved.commit(false));
  EXPECT_THAT(names(), ElementsAre("second"));
}

TEST_F(OutputFileTest, ReplacesAnotherFileOnlyWhereAsked) {
  test::write_file(folder_ / "data", "old");
  OutputFile refused = create("data");
  ASSERT_TRUE(refused.write(as_bytes("new")));
  EXPECT_THAT(refused.commit(false), test::Fails(Errc::already_exists).in(folder_ / "data"));
  EXPECT_EQ(content("data"), "old");
  EXPECT_THAT(names(), ElementsAre("data"));

  OutputFile replacing = create("data");
  ASSERT_TRUE(replacing.write(as_bytes("new")));
  ASSERT_TRUE(replacing.commit(true));
  EXPECT_EQ(content("data"), "new");
}

TEST_F(OutputFileTest, KeepsItsFirstFailure) {
  test::write_file(folder_ / "data", "old");
  OutputFile file = create("data");
  const auto failed = file.commit(false);
  ASSERT_FALSE(failed);
  EXPECT_THAT(file.write(as_bytes("abc")), test::Fails(Errc::already_exists));
  EXPECT_THAT(file.sync(), test::Fails(Errc::already_exists));
  EXPECT_THAT(file.publish(true), test::Fails(Errc::already_exists));
}

TEST_F(OutputFileTest, RefusesWritesOnceFinished) {
  OutputFile file = create("data");
  ASSERT_TRUE(file.commit(false));
  EXPECT_THAT(file.write(as_bytes("abc")), test::Fails(Errc::closed));
}

TEST_F(OutputFileTest, TakesTheLongestNameOfTheFileSystem) {
  const std::string name(255, 'n');
  ASSERT_TRUE(create(name).commit(false));
  EXPECT_THAT(names(), ElementsAre(name));
}

TEST_F(OutputFileTest, SurvivesAForkedChildThatDestroysItsCopy) {
  OutputFile file = create("data");
  const pid_t child = ::fork();
  if (child == 0) {
    { OutputFile copy = std::move(file); }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(file.commit(false));
  EXPECT_THAT(names(), ElementsAre("data"));
}

TEST_F(OutputFileTest, IsNotInheritedByOtherPrograms) {
  const int before = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(before);
  OutputFile file = create("data");
  EXPECT_EQ(::fcntl(before, F_GETFD), FD_CLOEXEC) << "the lowest free descriptor is the file's";
}

// All ways to refuse a replacement must agree, because the file system chooses between them.
TEST_F(OutputFileTest, RenamesAndLinksAlike) {
  for (const auto rename : {rename_without_replacing, link_without_replacing, rename_where_none_is_seen}) {
    test::write_file(folder_ / "from", "new");
    test::write_file(folder_ / "to", "old");
    EXPECT_EQ(rename(target_->descriptor(), "from", "to"), EEXIST);
    EXPECT_EQ(content("to"), "old");
    EXPECT_EQ(content("from"), "new");
    ASSERT_TRUE(target_->remove("to"));
    EXPECT_EQ(rename(target_->descriptor(), "from", "to"), 0);
    EXPECT_THAT(names(), ElementsAre("to"));
    EXPECT_EQ(rename(target_->descriptor(), "from", "other"), ENOENT);
    ASSERT_TRUE(target_->remove("to"));
  }
}

TEST_F(OutputFileTest, NamesTheFileThatCannotBeCreated) {
  const auto missing = OutputFolder::open(folder_ / "missing");
  ASSERT_THAT(missing, test::Fails(boost::system::errc::no_such_file_or_directory).in(folder_ / "missing"));

  EXPECT_THAT(OutputFile::create(target_, "data/inside"), test::Fails().in(folder_ / "data/inside"));
}

using OutputFolderTest = test::FolderTest;

TEST_F(OutputFolderTest, MakesWhatIsMissingAndRemovesOnlyThat) {
  {
    auto made = OutputFolder::create(folder_ / "a/b//c/");
    ASSERT_TRUE(made);
    EXPECT_TRUE((*made)->names().value().empty());
    EXPECT_EQ((*made)->path_of("x"), folder_ / "a/b//c/x");
    (*made)->remove_created();
  }
  EXPECT_THAT(test::names_in(folder_.path()), IsEmpty());
}

TEST_F(OutputFolderTest, AnAddressIsNoFolder) {
  for (const char* address : {"s3://bucket/data", "GS://bucket", "abfs+x.1-a://y"}) {
    EXPECT_THAT(OutputFolder::create(address), test::Fails(Errc::invalid_option)) << address;
    EXPECT_FALSE(std::filesystem::exists(std::string(address).substr(0, 3))) << address;
  }
}

TEST_F(OutputFolderTest, KeepsCreatedFoldersThatHoldOtherThings) {
  auto made = OutputFolder::create(folder_ / "a/b").value();
  test::write_file(folder_ / "a/other", "x");
  made->remove_created();
  EXPECT_THAT(test::names_in(folder_.path()), ElementsAre("a"));
  EXPECT_THAT(test::names_in(folder_ / "a"), ElementsAre("other"));
}

TEST_F(OutputFolderTest, RefusesAFileInTheWayAndUndoesWhatItMade) {
  test::write_file(folder_ / "file", "x");
  EXPECT_THAT(OutputFolder::create(folder_ / "file/b"), test::Fails(boost::system::errc::not_a_directory));
  EXPECT_THAT(test::names_in(folder_.path()), ElementsAre("file"));
}

}  // namespace
}  // namespace dovetail::detail
