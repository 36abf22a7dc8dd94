// SPDX-License-Identifier: Apache-2.0
// What `merge` makes of the parts that are there, and of those that an earlier one has left.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "tests/convert/part_conversions.h"
#include "tests/support/fails.h"
#include "writer/staging.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class MergeTest : public PartsTest {
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
    const auto merged = merge(out_).value();
    EXPECT_EQ(merged.records, 600u);
    EXPECT_THAT(names_in(out_), Not(Contains(HasSubstr(".dovetail"))));
    fs::remove_all(out_);
  }
}

// No part is converted again while the manifest is written and the folder renamed.
TEST_F(MergeTest, AndConversionsKeepOutOfEachOthersWay) {
  const ConvertOptions wanted = ten_shards();
  for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
  for (const auto access : {detail::FileLock::Access::shared, detail::FileLock::Access::exclusive}) {
    const detail::Staging taken = detail::Staging::open(out_, access, false).value();
    const bool shared = access == detail::FileLock::Access::shared;
    EXPECT_THAT(merge(out_), Fails(Errc::busy).in(staged_));
    EXPECT_EQ(run_part(wanted, 1, 2).has_value(), shared) << "parts are converted side by side";
  }
  EXPECT_TRUE(merge(out_));
}

TEST_F(MergeTest, NothingToMergeIsAnError) {
  EXPECT_THAT(merge(folder_ / "missing"), Fails(Errc::empty_input));
  fs::create_directory(out_);
  EXPECT_THAT(merge(out_), Fails(Errc::empty_input));
  EXPECT_THAT(names_in(folder_ / ""), ElementsAre("out")) << "nor is anything made";
}

// Behind each step of a merging a process may be killed.
TEST_F(MergeTest, GoesOnWhereItWasKilled) {
  ConvertOptions split = ten_shards();
  split.split = {{"train", 0.7}, {"val", 0.3}};
  ConvertOptions plain = split;
  plain.split.clear();
  for (const ConvertOptions& wanted : {plain, split}) {
    convert(folder_ / "whole", wanted).value();
    const Files whole = files_below(folder_ / "whole");
    std::vector<std::string> marks = {".dovetail-lock"};
    for (std::uint32_t part = 0; part != 3; ++part) {
      ASSERT_TRUE(run_part(wanted, part, 3));
      for (const char* suffix : {".conversion", ".dvt"}) marks.push_back(part_prefix(part, 3) + suffix);
    }
    fs::rename(staged_, folder_ / "parts");
    const auto begin = [&](const std::string& place) {
      fs::remove_all(out_);
      fs::remove_all(staged_);
      fs::copy(folder_ / "parts", place, fs::copy_options::recursive);
    };
    const auto merges = [&](const std::string& state) {
      const auto merged = merge(out_);
      ASSERT_TRUE(merged) << state << ": " << merged.error().to_string();
      EXPECT_EQ(merged->records, all_.size()) << state;
      EXPECT_EQ(merged->shards, 10u) << state;
      EXPECT_EQ(merged->datasets.size(), std::max<std::size_t>(wanted.split.size(), 1)) << state;
      EXPECT_EQ(files_below(out_), whole) << state;
      EXPECT_FALSE(fs::exists(staged_)) << state;
    };
    begin(staged_);
    write_file(staged_ + "/.manifest.dvt.partial-1-00000000", "half a manifest");
    merges("while the manifest was written");
    begin(staged_);
    fs::copy(folder_ / "whole", staged_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    merges("before the folder was renamed");
    for (std::size_t left = marks.size(); left != 0; --left) {
      begin(out_);
      fs::copy(folder_ / "whole", out_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
      if (left == marks.size()) {
        fs::copy(folder_ / "whole", staged_, fs::copy_options::recursive);  // what was replaced
        mark_as_exchanged();
      }
      for (std::size_t mark = left; mark != marks.size(); ++mark) fs::remove(out_ + '/' + marks[mark]);
      if (left < marks.size()) fs::remove(out_ + "/.dovetail-lock");
      if (left == 1) break;  // no mark: the merging was at its end
      merges("with " + std::to_string(left) + " marks");
    }
    EXPECT_THAT(merge(out_), Fails(Errc::empty_input)) << "nothing is left of it";
    EXPECT_THAT(merge(out_, true), Fails(Errc::empty_input));
    for (const char* folder : {"whole", "parts", "out", "out.partial"}) fs::remove_all(folder_ / folder);
  }
}

TEST_F(MergeTest, AShardThatIsGoneIsNamedAndConvertedAgain) {
  const ConvertOptions wanted = ten_shards();
  convert(folder_ / "whole", wanted).value();
  for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
  for (const int shard : {0, 1, 6}) fs::remove(staged_ + "/shard-00000" + std::to_string(shard) + ".dvt");
  for (const std::uint32_t part : {0u, 1u}) {
    EXPECT_THAT(merge(out_), Fails(Errc::unfinished)
                                 .saying("the shard is missing; convert the part again")
                                 .in(staged_ + (part == 0 ? "/shard-000000.dvt" : "/shard-000006.dvt")));
    EXPECT_FALSE(fs::exists(out_));
    const auto again = run_part(wanted, part, 2).value();
    EXPECT_EQ(again.shards, 5u);
    EXPECT_EQ(again.kept_shards, part == 0 ? 3u : 4u);
  }
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
}

// Shards of an earlier conversion to more of them, which was killed while it was dropped.
TEST_F(MergeTest, LeavesNoShardThatTheManifestDoesNotName) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  fs::copy_file(staged_ + "/shard-000009.dvt", staged_ + "/shard-000010.dvt");
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(names_in(out_).size(), 11u);
  EXPECT_TRUE(verify(out_).value().ok());
}

TEST_F(MergeTest, TidiesWhatAnotherWriterHasPublished) {
  ASSERT_TRUE(convert(out_, ten_shards()));
  put("out/.dovetail-lock", "");
  EXPECT_EQ(merge(out_)->records, all_.size());
  EXPECT_FALSE(fs::exists(out_ + "/.dovetail-lock"));
}

TEST_F(MergeTest, LeavesNothingOfAnEarlierSplit) {
  ConvertOptions wanted = ten_shards();
  ConvertOptions split = wanted;
  split.split = {{"train", 0.7}, {"val", 0.3}};
  ConvertOptions other = wanted;
  other.split = {{"train", 0.7}, {"test", 0.3}};
  other.resume = wanted.resume = false;
  for (const ConvertOptions& next : {wanted, other}) {
    ASSERT_TRUE(run_part(split, 0, 1));
    ASSERT_TRUE(run_part(next, 0, 1));
    ASSERT_TRUE(merge(out_));
    EXPECT_FALSE(fs::exists(out_ + "/val"));
    EXPECT_EQ(fs::exists(out_ + "/train"), !next.split.empty());
    ConvertOptions again = next;
    again.writer.shard.overwrite = true;
    EXPECT_TRUE(convert(out_, again)) << "and it can be replaced";
    fs::remove_all(out_);
  }
}

TEST_F(MergeTest, PublishesNothingOfOthers) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  const std::string notes = put("out.partial/notes.txt", "mine");
  EXPECT_THAT(merge(out_), Fails(Errc::already_exists).in(notes));
  EXPECT_FALSE(fs::exists(out_));
  fs::remove(notes);
  EXPECT_TRUE(merge(out_));
}

TEST_F(MergeTest, DoNotReplaceADatasetUnasked) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(convert(out_, options({put("old.txt", "old\n")}, 1)));
  EXPECT_THAT(run_part(wanted, 0, 1), Fails(Errc::already_exists));
  ConvertOptions asked = wanted;
  asked.writer.shard.overwrite = true;
  ASSERT_TRUE(run_part(asked, 0, 1));
  EXPECT_THAT(merge(out_), Fails(Errc::already_exists));
  EXPECT_FALSE(fs::exists(staged_ + "/manifest.dvt")) << "what is staged is no dataset";
  EXPECT_THAT(read_dataset(out_).records, ElementsAre("old"));
  ASSERT_TRUE(merge(out_, true));
  EXPECT_TRUE(read_dataset(out_).records == all_);
}

}  // namespace
}  // namespace dovetail::test
