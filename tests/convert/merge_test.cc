// SPDX-License-Identifier: Apache-2.0
// What `merge` makes of the parts that are there, and of those that an earlier one has left.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "convert/target_lock.h"
#include "convert/work_folder.h"
#include "tests/convert/part_conversions.h"

namespace dovetail {
namespace {

namespace fs = std::filesystem;
using test::work_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class MergeTest : public test::PartsTest {
 protected:
  static std::string lines_of(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + '\n';
    return text;
  }
};

/// While it lives, the process may have so many files open.
class OpenFiles {
 public:
  explicit OpenFiles(rlim_t most) {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("the limit cannot be read");
    rlimit few = before_;
    few.rlim_cur = most;
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) throw std::runtime_error("the limit cannot be set");
  }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
  ~OpenFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(MergeTest, TakesMorePartsThanFilesThatMayBeOpen) {
  constexpr std::uint32_t kParts = 24;
  for (const char* split : {"", "train=0.7,val"}) {
    ConvertOptions wanted = options({put("lines.txt", lines_of(600))}, kParts);
    if (*split != 0) wanted.split = parse_split(split).value();
    for (std::uint32_t part = 0; part != kParts; ++part) ASSERT_TRUE(run_part(wanted, part, kParts));
    const OpenFiles few(24);
    const auto merged = merge(out_);
    ASSERT_TRUE(merged) << merged.error().to_string();
    EXPECT_EQ(merged->records, 600u);
    EXPECT_THAT(test::names_in(out_), Not(Contains(HasSubstr(".dovetail"))));
    fs::remove_all(out_);
  }
}

// No part is converted again while all of them are moved to their place.
TEST_F(MergeTest, AndConversionsKeepOutOfEachOthersWay) {
  const ConvertOptions wanted = ten_shards();
  for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
  for (const std::uint32_t part : {0u, 1u}) {
    const detail::WorkFolder taken = detail::WorkFolder::create(out_, {part, 2}).value();
    const auto refused = merge(out_);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is(Errc::busy)) << refused.error().to_string();
    EXPECT_EQ(refused.error().path(), out_ + work_of(part, 2));
  }
  {
    const detail::TargetLock merging = detail::TargetLock::take(out_).value();
    constexpr std::chrono::milliseconds kShort{50};
    EXPECT_TRUE(detail::WorkFolder::create(out_, {1, 2}, kShort).error().is(Errc::busy));
    EXPECT_TRUE(detail::TargetLock::take(out_, kShort).error().is(Errc::busy));
  }
  EXPECT_TRUE(merge(out_));
}

TEST_F(MergeTest, NothingToMergeIsAnError) {
  EXPECT_EQ(merge(folder_ / "missing").error().kind(), ErrorKind::io);
  fs::create_directory(out_);
  EXPECT_TRUE(merge(out_).error().is(Errc::empty_input));
}

TEST_F(MergeTest, MergeGoesOnWhereItWasKilled) {
  const ConvertOptions wanted = ten_shards();
  convert(folder_ / "whole", wanted).value();
  for (std::uint32_t moved = 0; moved <= 10; ++moved) {
    for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
    for (std::uint32_t shard = 0; shard != moved; ++shard) {
      const std::string name = "/shard-00000" + std::to_string(shard) + ".dvt";
      fs::rename(out_ + work_of(shard < 5 ? 0 : 1, 2) + name, out_ + name);
    }
    test::write_file(out_ + "/.manifest.dvt.partial-1-00000000", "half a manifest");
    EXPECT_FALSE(Dataset::open(out_));
    ASSERT_TRUE(merge(out_)) << moved << " shards had their names";
    EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
    if (moved == 10) break;
    fs::remove_all(out_);
  }
  // Killed after the manifest had its name, before the parts were gone.
  fs::copy(folder_ / "whole", folder_ / "again", fs::copy_options::recursive);
  fs::remove_all(out_);
  ASSERT_TRUE(run_part(wanted, 0, 1));
  for (const std::string& name : test::names_in(folder_ / "again")) {
    fs::rename(folder_ / "again/" + name, out_ + '/' + name);
  }
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
}

TEST_F(MergeTest, MergeFinishesARemovalThatWasKilled) {
  ConvertOptions split = ten_shards();
  split.split = {{"train", 0.7}, {"val", 0.3}};
  ConvertOptions whole = split;
  whole.split.clear();
  const auto empty_but_for = [](const std::string& work, const std::vector<std::string>& kept) {
    for (const std::string& name : test::names_in(work)) {
      if (std::find(kept.begin(), kept.end(), name) == kept.end()) fs::remove_all(work + '/' + name);
    }
  };
  for (const ConvertOptions& wanted : {whole, split}) {
    for (std::uint32_t part = 0; part != 3; ++part) ASSERT_TRUE(run_part(wanted, part, 3));
    fs::copy(out_, folder_ / "parts", fs::copy_options::recursive);
    const ConvertReport merged = merge(out_).value();
    const Files dataset = files_below(out_);
    // Of the parts below `left` something is left, and of the last of them perhaps nothing but what says that it was merged.
    for (std::uint32_t left = 1; left <= 3; ++left) {
      const std::string manifest = "part-0000" + std::to_string(left - 1) + "-of-00003.dvt";
      for (const auto& kept :
           {std::vector<std::string>{".merged"}, {".merged", "lock"}, {".merged", "lock", manifest}}) {
        for (std::uint32_t part = 0; part != left; ++part) {
          fs::copy(folder_ / ("parts" + work_of(part, 3)), out_ + work_of(part, 3), fs::copy_options::recursive);
          fs::rename(out_ + work_of(part, 3) + "/conversion", out_ + work_of(part, 3) + "/.merged");
        }
        empty_but_for(out_ + work_of(left - 1, 3), kept);
        const auto again = merge(out_);
        ASSERT_TRUE(again) << left << " parts left: " << again.error().to_string();
        EXPECT_EQ(again->records, merged.records);
        EXPECT_EQ(again->shards, merged.shards);
        ASSERT_EQ(again->datasets.size(), merged.datasets.size());
        EXPECT_EQ(again->datasets.back().shards, merged.datasets.back().shards);
        EXPECT_EQ(files_below(out_), dataset);
        EXPECT_THAT(test::names_in(out_), Not(Contains(HasSubstr(".dovetail"))));
      }
    }
    fs::remove_all(out_);
    fs::remove_all(folder_ / "parts");
  }
}

// Killed when a folder was to be removed and said nothing any more: it is no part, and goes with the next call.
TEST_F(MergeTest, AFolderThatIsBeingRemovedIsNoPartOfAnything) {
  ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(convert(out_, wanted));
  const Files dataset = files_below(out_);
  const std::string removed = out_ + "/.dovetail-removed-part-00001-of-00003";
  const auto leave = [&](bool with_mark) {
    fs::create_directory(removed);
    test::write_file(removed + "/lock", "");
    if (with_mark) test::write_file(removed + "/.merged", "shards 10\n");
  };
  leave(true);
  EXPECT_TRUE(Dataset::open(out_)->has_manifest());
  EXPECT_TRUE(verify(out_).value().ok());
  EXPECT_EQ(test::read_source(out_).value(), all_);
  EXPECT_EQ(recover(out_, folder_ / "saved").value().records, all_.size());
  EXPECT_TRUE(merge(out_).error().is(Errc::empty_input)) << "no part";
  EXPECT_FALSE(fs::exists(removed)) << "merging has swept it away";
  for (const bool with_mark : {false, true}) {
    leave(with_mark);
    EXPECT_TRUE(convert(out_, wanted).error().is(Errc::already_exists));
    EXPECT_FALSE(fs::exists(removed)) << "and so does a conversion, of any part";
    EXPECT_EQ(files_below(out_), dataset);
  }
  // What is not empty otherwise is somebody's, and what a living process holds is its own to remove.
  leave(false);
  const int held = ::open((removed + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_TRUE(convert(out_, wanted).error().is(Errc::already_exists));
  EXPECT_TRUE(fs::exists(removed + "/lock"));
  ::close(held);
  test::write_file(removed + "/mine", "");
  EXPECT_TRUE(convert(out_, wanted).error().is(Errc::already_exists));
  EXPECT_TRUE(fs::exists(removed + "/mine"));
}

TEST_F(MergeTest, PartsOfWhichOneDoesNotSayThatItWasMergedAreMissingOne) {
  const ConvertOptions wanted = ten_shards();
  for (std::uint32_t part = 0; part != 3; ++part) ASSERT_TRUE(run_part(wanted, part, 3));
  fs::copy(out_, folder_ / "parts", fs::copy_options::recursive);
  ASSERT_TRUE(merge(out_));
  const auto refuses = [&](const char* says) {
    for (const bool overwrite : {false, true}) {
      const Files before = files_below(out_);
      const auto refused = merge(out_, overwrite);
      ASSERT_FALSE(refused) << says;
      EXPECT_TRUE(refused.error().is(Errc::unfinished)) << refused.error().to_string();
      EXPECT_THAT(refused.error().to_string(), HasSubstr(says));
      EXPECT_EQ(files_below(out_), before);
      EXPECT_TRUE(Dataset::open(out_)->has_manifest());
    }
  };
  // Of a conversion that has just begun, beside the dataset of another.
  fs::create_directory(out_ + work_of(0, 3));
  test::write_file(out_ + work_of(0, 3) + "/lock", "");
  refuses("part 0 of 3 is not finished");
  fs::remove_all(out_ + work_of(0, 3));
  // Finished parts of the same conversion, of which some are missing: they may be wanted for another try.
  fs::copy(folder_ / ("parts" + work_of(0, 3)), out_ + work_of(0, 3), fs::copy_options::recursive);
  refuses("part 1 of 3 is missing");
  // One that was merged, beside one that was not, and the other way round.
  fs::copy(folder_ / ("parts" + work_of(1, 3)), out_ + work_of(1, 3), fs::copy_options::recursive);
  fs::rename(out_ + work_of(0, 3) + "/conversion", out_ + work_of(0, 3) + "/.merged");
  refuses("part 2 of 3 is missing");
  fs::rename(out_ + work_of(1, 3) + "/conversion", out_ + work_of(1, 3) + "/.merged");
  // All say so, but of another dataset than the one that is there.
  ASSERT_TRUE(convert(folder_ / "other", options({put("other.txt", "one\ntwo\n")}, 10)));
  fs::rename(out_ + "/shard-000003.dvt", folder_ / "shard");
  fs::copy_file(folder_ / "other/shard-000003.dvt", out_ + "/shard-000003.dvt");
  refuses("part 2 of 3 is missing");
  fs::rename(folder_ / "shard", out_ + "/shard-000003.dvt");
  EXPECT_TRUE(merge(out_));
}

TEST_F(MergeTest, GoesOnAfterATryToConvertAPartThatWasMerged) {
  const ConvertOptions wanted = ten_shards();
  for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
  fs::copy(out_, folder_ / "parts", fs::copy_options::recursive);
  ASSERT_TRUE(merge(out_));
  const Files dataset = files_below(out_);
  for (std::uint32_t part = 0; part != 2; ++part) {
    fs::copy(folder_ / ("parts" + work_of(part, 2)), out_ + work_of(part, 2), fs::copy_options::recursive);
  }
  // Killed when the first of them said that it was merged.
  fs::rename(out_ + work_of(0, 2) + "/conversion", out_ + work_of(0, 2) + "/.merged");
  EXPECT_TRUE(run_part(wanted, 0, 2).error().is(Errc::already_exists));
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(files_below(out_), dataset);
}

TEST_F(MergeTest, APartThatWasMergedIsConvertedAnewWhereThatIsAskedFor) {
  const ConvertOptions wanted = ten_shards();
  for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
  fs::rename(out_ + work_of(0, 2) + "/conversion", out_ + work_of(0, 2) + "/.merged");
  fs::remove(out_ + work_of(0, 2) + "/shard-000002.dvt");
  ASSERT_TRUE(run_part(wanted, 0, 2));
  EXPECT_FALSE(fs::exists(out_ + work_of(0, 2) + "/.merged")) << "it is not any more";
  ASSERT_TRUE(merge(out_));
  EXPECT_TRUE(test::read_dataset(out_).records == all_);
}

TEST_F(MergeTest, PartsOfAnotherDatasetThanTheOneThatIsThereAreNotRemoved) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(convert(out_, wanted));
  ConvertOptions other = options({put("other.txt", "one\ntwo\n")}, 10);  // of the same dataset id
  other.writer.shard.overwrite = true;
  ASSERT_TRUE(run_part(other, 0, 2));
  const Files before = files_below(out_);
  EXPECT_TRUE(merge(out_, true).error().is(Errc::unfinished));
  ASSERT_TRUE(run_part(other, 1, 2));
  fs::remove(out_ + "/shard-000003.dvt");
  fs::remove_all(out_ + work_of(1, 2));
  EXPECT_TRUE(merge(out_, true).error().is(Errc::unfinished));
  EXPECT_TRUE(fs::exists(out_ + work_of(0, 2) + "/part-00000-of-00002.dvt"));
  EXPECT_EQ(files_below(out_).size(), before.size() - 1);
}

TEST_F(MergeTest, AShardThatIsGoneIsNamed) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  fs::remove(out_ + work_of(0, 1) + "/shard-000003.dvt");
  const auto refused = merge(out_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::unfinished));
  EXPECT_THAT(refused.error().path(), HasSubstr("shard-000003.dvt"));
  EXPECT_THAT(test::names_in(out_), SizeIs(1)) << "nothing was moved";
}

// A merging was killed between names, and then somebody tidied up what looked like half a dataset.
TEST_F(MergeTest, APartWhoseShardsAreGoneIsConvertedAgainAsItsErrorSays) {
  const ConvertOptions wanted = ten_shards();
  convert(folder_ / "whole", wanted).value();
  for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
  for (const int shard : {0, 1, 6})
    fs::remove(out_ + work_of(shard < 5 ? 0 : 1, 2) + "/shard-00000" + std::to_string(shard) + ".dvt");
  fs::rename(out_ + work_of(0, 2) + "/shard-000002.dvt", out_ + "/shard-000002.dvt");
  for (const std::uint32_t part : {0u, 1u}) {
    const auto refused = merge(out_);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().to_string(), HasSubstr("the shard is missing: convert the part again"));
    const auto again = run_part(wanted, part, 2);
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_EQ(again->shards, 5u);
    EXPECT_GE(again->kept_shards, 2u);
    EXPECT_LT(again->kept_shards, 5u);
  }
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
}

TEST_F(MergeTest, DoNotReplaceADatasetUnasked) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(convert(out_, options({put("old.txt", "old\n")}, 1)));
  EXPECT_TRUE(run_part(wanted, 0, 1).error().is(Errc::already_exists));
  ConvertOptions asked = wanted;
  asked.writer.shard.overwrite = true;
  ASSERT_TRUE(run_part(asked, 0, 1));
  EXPECT_TRUE(merge(out_).error().is(Errc::already_exists));
  EXPECT_THAT(test::read_dataset(out_).records, ElementsAre("old"));
  ASSERT_TRUE(merge(out_, true));
  EXPECT_TRUE(test::read_dataset(out_).records == all_);
}

}  // namespace
}  // namespace dovetail
