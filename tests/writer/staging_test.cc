// SPDX-License-Identifier: Apache-2.0
// What a dataset that is being written leaves at its target and beside it, and what the next writer
// makes of that.
#include "writer/staging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset_writer.h>

#include "tests/support/as_nobody.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/mounted.h"

namespace dovetail::detail {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const test::Records kOld = {"old", "older", "oldest"};
const test::Records kNew = {"new", "newer"};

class StagingTest : public test::FolderTest {
 protected:
  static void write(const std::string& folder, const test::Records& records, bool overwrite = false) {
    DatasetWriterOptions options{.shard = {.overwrite = overwrite}, .shard_bytes = 1};
    DatasetWriter writer = DatasetWriter::create(folder, options).value();
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    writer.finish().value();
  }
  /// A dataset without what a writer would tidy beside it.
  void put(const std::string& name, const test::Records& records) const {
    write(folder_ / "made", records);
    fs::create_directories(fs::path(folder_ / name).parent_path());
    fs::rename(folder_ / "made", folder_ / name);
  }
  void mark(const std::string& name) const { test::write_file(folder_ / name, ""); }
  /// A mark that says which folder is replaced.
  void mark(const std::string& name, const std::string& replaced) const {
    struct stat status {};
    ASSERT_EQ(::stat((folder_ / replaced).c_str(), &status), 0);
    test::write_file(folder_ / name, std::to_string(status.st_ino));
  }
  void remove(const std::string& name) const { ASSERT_TRUE(fs::remove(folder_ / name)) << name; }
  std::vector<std::string> names() const { return test::names_in(folder_.path()); }
  /// All paths in the folder.
  std::vector<std::string> paths() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  Error refusal(const std::string& target, bool overwrite = true) const {
    const auto refused = Staging::begin(target, overwrite);
    if (!refused) return refused.error();
    ADD_FAILURE() << target << " is not refused";
    return {};
  }

  const std::string data_ = folder_ / "data";
  const std::string staged_ = folder_ / "data.partial";
};

TEST_F(StagingTest, TheNextWriterTidiesWhatAKilledOneLeft) {
  struct State {
    const char* name;
    std::function<void()> make;
    const test::Records* target;  // nothing where there is none
  };
  const auto old_at = [&](const std::string& name) { put(name, kOld); };
  const auto new_at = [&](const std::string& name, const std::string& replaced = {}) {
    put(name, kNew);
    replaced.empty() ? mark(name + "/.dovetail-lock") : mark(name + "/.dovetail-lock", replaced);
  };
  const auto part_of = [&](const std::string& name) {
    remove(name + "/manifest.dvt");
    remove(name + "/shard-000000.dvt");
  };
  const State states[] = {
      {"made", [&] { fs::create_directory(staged_); }, nullptr},
      {"locked",
       [&] {
         fs::create_directory(staged_);
         mark("data.partial/.dovetail-lock");
       },
       nullptr},
      {"unfinished beside an old one",
       [&] {
         old_at("data");
         new_at("data.partial");
         remove("data.partial/manifest.dvt");
         mark("data.partial/.shard-000002.dvt.partial-1-2");
       },
       &kOld},
      {"whole, not renamed", [&] { new_at("data.partial"); }, nullptr},
      {"whole beside an old one",
       [&] {
         old_at("data");
         new_at("data.partial");
       },
       &kOld},
      {"renamed", [&] { new_at("data"); }, &kNew},
      {"renamed by a part of a conversion, and no longer locked",
       [&] {
         new_at("data");
         mark("data/.dovetail-part-00000-of-00001.conversion");
         remove("data/.dovetail-lock");
       },
       &kNew},
      {"exchanged",
       [&] {
         old_at("data.partial");
         new_at("data", "data.partial");
       },
       &kNew},
      {"exchanged, with part of the old one removed",
       [&] {
         old_at("data.partial");
         part_of("data.partial");
         mark("data.partial/.dovetail-lock");
         new_at("data", "data.partial");
       },
       &kNew},
      {"exchanged with a split, with part of that removed",
       [&] {
         old_at("data.partial/train");
         old_at("data.partial/val");
         part_of("data.partial/val");
         new_at("data", "data.partial");
       },
       &kNew},
      {"exchanged, with the files of the old one removed",
       [&] {
         fs::create_directory(staged_);
         new_at("data", "data.partial");
       },
       &kNew},
      {"noted, not exchanged",
       [&] {
         old_at("data");
         new_at("data.partial", "data");
       },
       &kOld},
      {"put aside",
       [&] {
         old_at("data.replaced");
         new_at("data.partial", "data.replaced");
       },
       &kOld},
      {"put aside, and renamed",
       [&] {
         old_at("data.replaced");
         new_at("data", "data.replaced");
       },
       &kNew},
      {"put aside, and renamed, with part of the old one removed",
       [&] {
         old_at("data.replaced");
         part_of("data.replaced");
         new_at("data", "data.replaced");
       },
       &kNew},
  };
  for (const State& state : states) {
    SCOPED_TRACE(state.name);
    for (const bool overwrite : {false, true}) {
      for (const std::string& name : names()) fs::remove_all(folder_ / name);
      state.make();
      {
        const auto writer = DatasetWriter::create(data_, {.shard = {.overwrite = overwrite}});
        EXPECT_EQ(writer.has_value(), overwrite || state.target == nullptr);
        EXPECT_TRUE(writer || writer.error().is(Errc::already_exists)) << writer.error().to_string();
      }
      if (state.target == nullptr) {
        EXPECT_THAT(names(), IsEmpty());
        write(data_, kNew);
      } else {
        EXPECT_EQ(test::read_dataset(data_).records, *state.target);
        EXPECT_EQ(test::names_in(data_).size(), state.target->size() + 1) << "and no marks";
        write(data_, kNew, true);
      }
      EXPECT_EQ(test::read_dataset(data_).records, kNew);
      EXPECT_EQ(test::names_in(data_).size(), kNew.size() + 1);
      EXPECT_THAT(names(), ElementsAre("data"));
    }
  }
}

TEST_F(StagingTest, IsLockedWhileItLives) {
  using Access = FileLock::Access;
  for (const Access first : {Access::exclusive, Access::shared}) {
    const auto held = Staging::open(data_, first, false);
    ASSERT_TRUE(held);
    for (const Access second : {Access::exclusive, Access::shared}) {
      const auto other = Staging::open(data_, second, false);
      const bool both = first == Access::shared && second == Access::shared;
      EXPECT_EQ(other.has_value(), both);
      EXPECT_TRUE(other || other.error().is(Errc::busy)) << other.error().to_string();
    }
  }
  EXPECT_TRUE(Staging::begin(data_, false)) << "nobody has it";
}

TEST_F(StagingTest, AnUnfinishedConversionIsNotCleared) {
  fs::create_directory(staged_);
  mark("data.partial/.dovetail-lock");
  mark("data.partial/.dovetail-part-00000-of-00002.conversion");
  mark("data.partial/shard-000000.dvt");
  const auto before = paths();
  EXPECT_TRUE(refusal(data_).is(Errc::already_exists));
  EXPECT_EQ(paths(), before);
}

TEST_F(StagingTest, NeverRemovesWhatIsNotItsOwn) {
  struct Case {
    const char* name;
    std::function<void()> make;
    std::string named;  // in the error
  };
  const Case cases[] = {
      {"a folder of this name",
       [&] {
         fs::create_directory(staged_);
         mark("data.partial/shard-000000.dvt");
       },
       "data.partial"},
      {"a link of this name",
       [&] {
         fs::create_directory(folder_ / "elsewhere");
         fs::create_directory_symlink("elsewhere", staged_);
       },
       "data.partial"},
      {"a file among those that are staged",
       [&] {
         fs::create_directory(staged_);
         for (const char* name : {".dovetail-lock", "shard-000000.dvt", "notes.txt"})
           mark("data.partial/" + std::string(name));
       },
       "data.partial/notes.txt"},
      {"a file in a dataset of a split that is staged",
       [&] {
         fs::create_directories(staged_ + "/val");
         for (const char* name : {".dovetail-lock", "val/notes.txt"}) mark("data.partial/" + std::string(name));
       },
       "data.partial/val/notes.txt"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    for (const std::string& name : names()) fs::remove_all(folder_ / name);
    one.make();
    const auto before = paths();
    EXPECT_THAT(refusal(data_), test::Fails(Errc::already_exists).in(folder_ / one.named));
    EXPECT_EQ(paths(), before);
  }
}

TEST_F(StagingTest, OfADatasetThatWasReplacedAForeignFileStays) {
  for (const std::string& name : {std::string("data.partial"), std::string("data.replaced")}) {
    for (const std::string& there : names()) fs::remove_all(folder_ / there);
    put(name, kOld);
    mark(name + "/notes.txt");
    put("data", kNew);
    mark("data/.dovetail-lock", name);
    for (int tries = 0; tries != 2; ++tries) {
      EXPECT_EQ(refusal(data_).path(), folder_ / name);
      EXPECT_THAT(test::names_in(folder_ / name), ElementsAre("notes.txt"));
      EXPECT_EQ(test::read_dataset(data_).records, kNew);
    }
    remove(name + "/notes.txt");
    write(data_, kNew, true);
    EXPECT_THAT(names(), ElementsAre("data"));
  }
}

TEST_F(StagingTest, AnotherFolderOfTheNameOfOneThatIsPutAsideStays) {
  put("data", kOld);
  put("data.replaced", kOld);
  put("data.partial", kNew);
  mark("data.partial/.dovetail-lock", "data");
  write(data_, kNew, true);
  fs::rename(data_, staged_);
  mark("data.partial/.dovetail-lock", "data.partial");
  EXPECT_TRUE(Staging::begin(data_, false)) << "nothing was there to be put back";
  EXPECT_EQ(test::read_dataset(folder_ / "data.replaced").records, kOld);
  EXPECT_THAT(names(), ElementsAre("data.partial", "data.replaced"));
}

TEST_F(StagingTest, SaysThatAFolderWasRenamedBeforeItWasFinished) {
  fs::create_directory(data_);
  mark("data/shard-000000.dvt");
  for (const char* name : {"data/.dovetail-lock", "data/.dovetail-part-00000-of-00002.conversion"}) {
    mark(name);
    const auto before = paths();
    EXPECT_THAT(refusal(data_), test::Fails(Errc::already_exists).in(data_).saying("rename it to data.partial"));
    EXPECT_EQ(paths(), before);
    remove(name);
  }
  fs::rename(data_, staged_);
  mark("data.partial/.dovetail-lock");
  EXPECT_THAT(refusal(staged_).detail(), HasSubstr("give the name that it will have, " + data_));
}

TEST_F(StagingTest, RefusesAFolderThatCannotBeRenamed) {
  fs::create_directories(folder_ / "work/below");
  const std::string before = fs::current_path();
  fs::current_path(folder_ / "work/below");
  for (const std::string& target :
       {std::string("."), std::string("./"), folder_ / "work/below", std::string("../below")}) {
    EXPECT_THAT(refusal(target), test::Fails(Errc::invalid_option).saying("working directory").saying("such as"))
        << target;
  }
  EXPECT_TRUE(refusal("..").is(Errc::already_exists)) << "it holds the working directory";
  fs::current_path(before);
  EXPECT_TRUE(refusal("/").is(Errc::invalid_option));
  EXPECT_THAT(names(), ElementsAre("work"));
}

TEST_F(StagingTest, RefusesAMountPoint) {
  fs::create_directory(folder_ / "real");
  for (const bool again : {false, true}) {
    const auto mounted = again ? test::Mounted::again(folder_ / "real", data_) : test::Mounted::small_disk(data_);
    if (mounted.error() != 0) GTEST_SKIP() << "cannot mount a folder: " << std::strerror(mounted.error());
    EXPECT_THAT(refusal(data_), test::Fails(Errc::invalid_option).saying("mount point").saying(data_ + "/data"));
    EXPECT_THAT(names(), ElementsAre("data", "real"));
    write(data_ + "/data", kNew);
  }
}

TEST_F(StagingTest, RefusesAFolderInOneThatCannotBeWritten) {
  fs::create_directories(folder_ / "above/data");
  fs::permissions(folder_.path(), fs::perms::owner_all | test::kAllMaySearch);
  const test::FolderPermissions above(folder_ / "above", test::kAllMayRead | test::kAllMaySearch);
  const test::AsNobody nobody;
  if (nobody.may(folder_ / "above", W_OK)) GTEST_SKIP() << "this user may write everywhere";
  EXPECT_THAT(refusal(folder_ / "above/data"), test::Fails(Errc::invalid_option).saying(folder_ / "above/data/data"));
  EXPECT_EQ(refusal(folder_ / "above/other").code(), boost::system::errc::permission_denied);
}

TEST_F(StagingTest, ReplacesOnlyTheDatasetsOfASplitThatItIsTold) {
  put("data/train", kOld);
  put("data/val", kOld);
  using Names = std::vector<std::string>;
  for (const Names& told : {Names{}, Names{"train"}, Names{"train", "test"}}) {
    const auto refused = Staging::begin(data_, {true, told});
    ASSERT_THAT(refused, test::Fails(Errc::already_exists));
    EXPECT_THAT(refused.error().path(), ::testing::StartsWith(data_ + '/'));
  }
  auto staging = Staging::begin(data_, {true, {"train", "val", "test"}}).value();
  write(staging.output("test").value()->path(), kNew);
  ASSERT_TRUE(staging.publish({true, {"train", "val", "test"}}));
  ASSERT_TRUE(staging.tidy());
  EXPECT_THAT(test::names_in(data_), ElementsAre("test"));
  EXPECT_THAT(names(), ElementsAre("data"));
}

TEST_F(StagingTest, PublishesNoFolderButItsOwn) {
  auto staging = Staging::begin(data_, false).value();
  fs::rename(staged_, folder_ / "moved");
  put("data.partial", kOld);
  const auto before = paths();
  EXPECT_THAT(staging.publish(false), test::Fails(Errc::file_changed));
  EXPECT_EQ(paths(), before);
}

TEST_F(StagingTest, RefusesNamesThatLeaveNoRoomForMore) {
  EXPECT_TRUE(Staging::begin(folder_ / std::string(246, 'x'), false));
  EXPECT_TRUE(refusal(folder_ / std::string(247, 'x')).is(Errc::invalid_option));
}

TEST_F(StagingTest, IsHiddenFromWhoeverCannotSeeTheTarget) {
  fs::create_directory(data_);
  fs::permissions(data_, fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec);
  const auto staging = Staging::begin(data_, false).value();
  EXPECT_EQ(fs::status(staged_).permissions(), fs::perms::owner_all);
}

TEST_F(StagingTest, LeavesAFolderOfAnotherUserInASharedOne) {
  fs::permissions(folder_.path(), fs::perms::all | fs::perms::sticky_bit);
  fs::create_directory(staged_);
  if (::chown(staged_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "this user may give nothing away";
  EXPECT_THAT(refusal(data_), test::Fails(Errc::already_exists).in(staged_));
  EXPECT_THAT(test::names_in(staged_), IsEmpty());
}

TEST_F(StagingTest, FollowsALinkToAFolder) {
  fs::create_directory_symlink("real", folder_ / "link");
  const Error error = refusal(folder_ / "link");
  EXPECT_EQ(error.code(), boost::system::errc::no_such_file_or_directory) << "it leads nowhere";
  EXPECT_EQ(error.path(), folder_ / "link");
  write(folder_ / "real", kOld);
  write(folder_ / "link//", kNew, true);
  EXPECT_THAT(names(), ElementsAre("link", "real"));
  EXPECT_EQ(fs::read_symlink(folder_ / "link"), "real");
  EXPECT_EQ(test::read_dataset(folder_ / "real").records, kNew);
}

}  // namespace
}  // namespace dovetail::detail
