// SPDX-License-Identifier: Apache-2.0
// What lies in a folder and is no part of the source: it is left out and counted, and has no say in
// what the source is.
#include <filesystem>
#include <string>
#include <vector>

#include "convert/conversion_spec.h"
#include "sources/listing.h"
#include "tests/convert/conversions.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class LeftOutTest : public ConversionTest {
 protected:
  /// Of the files in `src`, their names and how many are left out.
  std::vector<std::string> taken(const SourceOptions& options) {
    std::vector<std::string> names;
    auto source = RecordSource::open(folder_ / "src", options);
    if (!source) return {source.error().detail()};
    while (source->next().value()) names.emplace_back(source->key());
    left_out_ = source->left_out();
    return names;
  }

  LeftOut left_out_;
};

TEST_F(LeftOutTest, LinksThatLeadToNoFileAreCounted) {
  put("src/a", "file");
  fs::create_symlink("gone", folder_ / "src/dangling");
  fs::create_symlink("circle", folder_ / "src/circle");
  fs::create_symlink("a/below", folder_ / "src/astray");
  fs::create_directory_symlink(".", folder_ / "src/folder");
  fs::create_symlink("a", folder_ / "src/link");
  EXPECT_THAT(taken({}), ElementsAre("a", "link"));
  EXPECT_EQ(left_out_, (LeftOut{.dangling = 3, .special = 1}));
}

TEST_F(LeftOutTest, LinksAreToldByWhereTheyLead) {
  put("real/cat/1.jpg", "x");
  put("src/dog/1.jpg", "x");
  fs::create_directory_symlink("../real/cat", folder_ / "src/cat");
  fs::create_symlink("../real/gone", folder_ / "src/cow");
  fs::create_symlink("gone", folder_ / "src/notes.txt");
  EXPECT_THAT(taken({.labels = true}), ElementsAre("dog/1.jpg"));
  EXPECT_EQ(left_out_, (LeftOut{.dangling = 2, .special = 1}));
  EXPECT_THAT(taken({.format = SourceFormat::folder, .include = {"*.jpg"}}), ElementsAre("dog/1.jpg"));
  EXPECT_EQ(left_out_, (LeftOut{.special = 1, .excluded = 2}));
}

TEST_F(LeftOutTest, AFolderOfLinksThatLeadNowhereAsksForTheirContent) {
  fs::create_directories(folder_ / "src/.git");
  for (const char* const name : {"src/1.jpg", "src/2.jpg"}) fs::create_symlink(".git/annex/gone", folder_ / name);
  EXPECT_THAT(taken({}), ElementsAre(AllOf(HasSubstr("2 links that lead nowhere"), HasSubstr("fetch the content"))));
}

TEST_F(LeftOutTest, WhatSystemsLeaveBehindIsNoRecord) {
  for (const char* const name :
       {"cat/1.jpg", "cat/Thumbs.db", "cat/Desktop.ini", "dog/ehthumbs.db", "dog/2.jpg", "__MACOSX/cat/_1.jpg",
        "dog/Thumbs.db.jpg", "@eaDir/cat/1.jpg", "dog/@eaDir/2.jpg", "$RECYCLE.BIN/S-1-5/a", "$Recycle.Bin/b",
        "System Volume Information/c", "lost+found/#1"}) {
    put(std::string("src/") + name, "x");
  }
  EXPECT_THAT(taken({.labels = true}), ElementsAre("cat/1.jpg", "dog/2.jpg", "dog/Thumbs.db.jpg"));
  EXPECT_EQ(left_out_, LeftOut{.litter = 10});
  fs::remove_all(folder_ / "src");
  put("src/1.jsonl", "{}\n");
  put("src/Thumbs.db", "x");
  EXPECT_EQ(RecordSource::open(folder_ / "src").value().format(), SourceFormat::jsonl);
}

TEST_F(LeftOutTest, PatternsChooseByNameOrByPath) {
  for (const char* const name : {"a.jpg", "a.txt", "raw/b.jpg", "x/raw/c.jpg", "x/y/d.jpg", "x/y/d.txt", "x/e.JPG"}) {
    put(std::string("src/") + name, "x");
  }
  struct {
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    std::vector<std::string> taken;
    std::uint64_t excluded;
  } const kCases[] = {
      {{"*.jpg"}, {}, {"a.jpg", "raw/b.jpg", "x/raw/c.jpg", "x/y/d.jpg"}, 3},
      {{"*.[jJ][pP][gG]"}, {"raw"}, {"a.jpg", "x/e.JPG", "x/y/d.jpg"}, 4},
      {{}, {"raw/"}, {"a.jpg", "a.txt", "x/e.JPG", "x/y/d.jpg", "x/y/d.txt"}, 2},
      {{}, {"x/raw", "a.?pg"}, {"a.txt", "raw/b.jpg", "x/e.JPG", "x/y/d.jpg", "x/y/d.txt"}, 2},
      {{"x/*.jpg"}, {}, {"x/raw/c.jpg", "x/y/d.jpg"}, 5},
      {{"x/**/d*"}, {"*.txt"}, {"x/y/d.jpg"}, 6},
      {{"x"}, {"*"}, {}, 0},
      {{"y", "a*"}, {}, {"a.jpg", "a.txt", "x/y/d.jpg", "x/y/d.txt"}, 3},
      {{"./x/*.jpg"}, {"./x/raw"}, {"x/y/d.jpg"}, 6},
      {{}, {"./raw/", "././a.txt"}, {"a.jpg", "x/e.JPG", "x/raw/c.jpg", "x/y/d.jpg", "x/y/d.txt"}, 2},
  };
  for (const auto& [include, exclude, wanted, excluded] : kCases) {
    const SourceOptions options{.format = SourceFormat::folder, .include = include, .exclude = exclude};
    if (wanted.empty()) {
      EXPECT_THAT(taken(options),
                  ElementsAre(HasSubstr("only files that are left out: 4 files or folders by include and exclude")));
    } else {
      EXPECT_EQ(taken(options), wanted) << ::testing::PrintToString(include) << ::testing::PrintToString(exclude);
      EXPECT_EQ(left_out_.excluded, excluded) << ::testing::PrintToString(include) << ::testing::PrintToString(exclude);
    }
  }
}

TEST_F(LeftOutTest, PatternsThatMatchNothingAreTold) {
  put("src/cat/a.jpg", "x");
  put("src/cat/a.txt", "x");
  SourceOptions options{.include = {"*.jpg", "dog/*", "cat"}, .exclude = {"/cat", "*.txt", "a.txt", "no"}};
  for (const bool labels : {false, true}) {
    options.labels = labels;
    EXPECT_THAT(RecordSource::open(folder_ / "src", options).value().unmatched(), ElementsAre("dog/*", "/cat", "no"));
  }
  ConvertOptions wanted = this->options({folder_ / "src"}, 1);
  wanted.source = options;
  EXPECT_THAT(convert(out_, wanted).value().sources.at(0).unmatched, ElementsAre("dog/*", "/cat", "no"));
}

TEST_F(LeftOutTest, FilesThatMayBeAMistakeAreTold) {
  put("src/mnist-Train2.jsonl", "{}\n");
  put("src/more/x_train.jsonl", "{}\n");
  put("src/train/test.jsonl", "{}\n");
  put("src/trainer/a.jsonl", "");
  put("src/latest.jsonl", "");
  const std::string src = folder_ / "src";
  EXPECT_THAT(RecordSource::open(src).value().notes(),
              ElementsAre("2 files are empty, such as " + src + "/latest.jsonl"));
  put("src/val2017/a.jsonl", "{}\n");
  const std::string both = "files of training and of evaluation become one dataset, such as " + src +
                           "/mnist-Train2.jsonl and " + src + "/val2017/a.jsonl";
  const ConvertReport report = convert(out_, this->options({src}, 1)).value();
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr(both), HasSubstr("2 files are empty")));
  EXPECT_THAT(RecordSource::open(src, {.exclude = {"val*", "*er", "latest*"}}).value().notes(), ElementsAre());
}

TEST_F(LeftOutTest, PatternsAreForFilesOfAFolder) {
  const std::string file = put("src/a.jsonl", "{}\n");
  EXPECT_THAT(RecordSource::open(file, {.include = {"*"}}), Fails(Errc::invalid_option).saying("a folder has"));
}

TEST_F(LeftOutTest, PatternsBelongToAConversion) {
  const std::string src = put_tfrecords(4, 300, 7);
  put("src/notes.txt", "x");
  ConvertOptions wanted = options({src}, 8);
  wanted.jobs = 1;
  wanted.source.exclude = {"*.txt"};
  std::uint64_t changed = 0;
  wanted.progress = [&](const ConvertProgress& progress) {
    if (progress.records != 0) put("src/notes.txt", std::string(++changed, 'x'));  // nobody's business
    return progress.records < 700;
  };
  ASSERT_THAT(convert(out_, wanted), Fails(ErrorKind::cancelled));
  ASSERT_GT(changed, 0u);
  wanted.progress = {};
  ConvertOptions other = wanted;
  other.source.exclude = {"*.txt", "nothing"};
  EXPECT_THAT(convert(out_, other), Fails(Errc::state_mismatch));
  const ConvertReport report = convert(out_, wanted).value();
  EXPECT_GT(report.kept_shards, 0u);
  EXPECT_EQ(report.sources.front().left_out, LeftOut{.excluded = 1});
  EXPECT_TRUE(read_dataset(out_).records == all_);
  EXPECT_EQ(detail::identify_inputs({src}, {.exclude = {"*.txt"}}).value().content,
            detail::identify_inputs({src}, {.include = {"*.tfrecord*"}}).value().content);
}

}  // namespace
}  // namespace dovetail::test
