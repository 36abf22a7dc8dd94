// SPDX-License-Identifier: Apache-2.0
// Folders whose files are Examples: with the path as key, and the subfolder as label.
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/schema.h>
#include <dovetail/tfrecord_export.h>

#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class FolderLabelsTest : public test::SourceTest {
 protected:
  void put(const std::string& name, const std::string& bytes) { SourceTest::put("source/" + name, bytes); }
  std::vector<std::string> read(const SourceOptions& options) { return read_texts(root_, options); }

  const std::string root_ = folder_ / "source";
};

TEST_F(FolderLabelsTest, NumbersSubfoldersInBytewiseOrder) {
  // "cat-" comes before "cat/", so the files of one folder need not be next to each other.
  put("cat/1", "x");
  put("cat-/1", "y");
  put("cat/deep/er/2", "z");
  put("Dog/1", "");
  EXPECT_THAT(read({.labels = true}), ElementsAre("__key__=<Dog/1> class=<Dog> data=<> label=[0]",
                                                  "__key__=<cat-/1> class=<cat-> data=<y> label=[2]",
                                                  "__key__=<cat/1> class=<cat> data=<x> label=[1]",
                                                  "__key__=<cat/deep/er/2> class=<cat> data=<z> label=[1]"));
}

TEST_F(FolderLabelsTest, TakesTheNumbersOfClassesThatAreGiven) {
  put("dog/1", "x");
  const std::vector<std::string> classes{"zebra", "dog", "cat"};
  EXPECT_THAT(read({.labels = true, .classes = classes}),
              ElementsAre("__key__=<dog/1> class=<dog> data=<x> label=[1]"));
  EXPECT_EQ(RecordSource::open(root_, {.labels = true, .classes = classes}).value().classes(), classes);

  const auto refusal = [&](const SourceOptions& options) {
    const auto refused = RecordSource::open(root_, options);
    EXPECT_THAT(refused, Fails(Errc::invalid_option));
    return refused.error();
  };
  const Error unknown = refusal({.labels = true, .classes = {"cat", "zebra"}});
  EXPECT_EQ(unknown.path(), root_ + "/dog");
  EXPECT_THAT(unknown.detail(), HasSubstr("not one of the 2 given classes"));
  EXPECT_THAT(refusal({.labels = true, .classes = {"dog", "cat", "dog"}}).detail(),
              HasSubstr("\"dog\" is given twice"));
  EXPECT_THAT(refusal({.labels = true, .classes = {"dog", ""}}).detail(), HasSubstr("needs a name"));
  EXPECT_THAT(refusal({.classes = {"dog"}}).detail(), HasSubstr("without labels"));
}

TEST_F(FolderLabelsTest, SourcesOfAConversionNumberTheirClassesAlike) {
  put("one/cat/1", "");
  put("one/zebra/1", "");
  put("two/dog/1", "");
  put("two/zebra/1", "");
  ConvertOptions options{.sources = {root_ + "/one", root_ + "/two"}, .source = {.labels = true}};
  const auto labels = [&](const std::string& to) {
    const ConvertReport report = convert(folder_ / to, options).value();
    EXPECT_EQ(report.sources.at(0).classes, report.sources.at(1).classes);
    return read_texts(folder_ / to);
  };
  EXPECT_THAT(labels("sorted"), ElementsAre("__key__=<cat/1> class=<cat> data=<> label=[0]",
                                            "__key__=<zebra/1> class=<zebra> data=<> label=[2]",
                                            "__key__=<dog/1> class=<dog> data=<> label=[1]",
                                            "__key__=<zebra/1> class=<zebra> data=<> label=[2]"));
  options.source.classes = {"zebra", "dog", "cat"};
  EXPECT_THAT(labels("given"), ElementsAre("__key__=<cat/1> class=<cat> data=<> label=[2]",
                                           "__key__=<zebra/1> class=<zebra> data=<> label=[0]",
                                           "__key__=<dog/1> class=<dog> data=<> label=[1]",
                                           "__key__=<zebra/1> class=<zebra> data=<> label=[0]"));
}

TEST_F(FolderLabelsTest, KeepsThePathWithoutLabelsToo) {
  put("a", "1");
  put("b/c", "2");
  for (const RecordForm form : {RecordForm::automatic, RecordForm::example}) {
    EXPECT_THAT(read({.records = form}), ElementsAre("__key__=<a> data=<1>", "__key__=<b/c> data=<2>"));
    EXPECT_TRUE(RecordSource::open(root_, {.records = form}).value().makes_examples());
  }
  EXPECT_THAT(read_source(root_, {.records = RecordForm::raw}).value(), ElementsAre("1", "2"));
}

TEST_F(FolderLabelsTest, ClassesAreInTheMetadataAndCarriedOn) {
  put("one/cat/1", "");
  put("one/a \"b\" \xFF/1", "");
  put("two/dog/1", "");
  ConvertOptions options{.sources = {root_ + "/one", root_ + "/two"}, .source = {.labels = true}};
  const auto metadata = [&](const std::string& to) { return RecordSource::open(folder_ / to).value().metadata(); };
  const std::string key(kClassesKey);
  ASSERT_TRUE(convert(folder_ / "to", options));
  EXPECT_EQ(metadata("to").at(key), "[\"a \\\"b\\\" \xEF\xBF\xBD\",\"cat\",\"dog\"]");
  ConvertOptions again{.sources = {folder_ / "to"}};
  ASSERT_TRUE(convert(folder_ / "again", again));
  EXPECT_EQ(metadata("again"), metadata("to"));

  options.source.classes = {"dog", "cat", "a \"b\" \xFF"};
  for (int i = 0; i < 20'000; ++i) options.source.classes.push_back(std::to_string(100'000 + i));
  ASSERT_TRUE(convert(folder_ / "given", options));
  EXPECT_TRUE(metadata("given").at(key).starts_with("[\"dog\",\"cat\","));
  for (std::string& name : options.source.classes) {
    if (name.front() == '1') name += std::string(60, 'x');
  }
  ASSERT_TRUE(convert(folder_ / "large", options));
  EXPECT_FALSE(metadata("large").contains(key)) << "of more than 1 MiB";
}

// Their labels are numbers already.
TEST_F(FolderLabelsTest, DatasetsOfOtherClassesAreNotPutTogether) {
  put("one/cat/1", "");
  put("two/dog/1", "");
  put("three/cat/2", "");
  for (const char* const name : {"one", "two", "three"}) {
    ASSERT_TRUE(convert(folder_ / name, {.sources = {root_ + '/' + name}, .source = {.labels = true}}));
  }
  EXPECT_THAT(convert(folder_ / "to", {.sources = {folder_ / "one", folder_ / "two"}}),
              Fails(Errc::invalid_option)
                  .in(folder_ / "two")
                  .saying("label 0 is \"dog\" here, but \"cat\" in " + (folder_ / "one"))
                  .saying("--classes"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "to"));
  ASSERT_TRUE(convert(folder_ / "to", {.sources = {folder_ / "one", folder_ / "three"}}));
  EXPECT_EQ(RecordSource::open(folder_ / "to").value().metadata().at(std::string(kClassesKey)), "[\"cat\"]");
}

TEST_F(FolderLabelsTest, ShardsOfOneSourceHaveTheSameClasses) {
  put("one/cat/1", "");
  put("two/dog/1", "");
  put("three/cat/2", "");
  int number = 0;
  for (const char* const name : {"one", "two", "three"}) {
    const std::string to = folder_ / ("d" + std::to_string(++number));
    ASSERT_TRUE(convert(to, {.sources = {root_ + '/' + name}, .source = {.labels = true}}));
  }
  ConvertOptions other{.sources = {folder_ / "d1"}};
  other.writer.shard.schema = parse_schema("label:i64").value();
  ASSERT_TRUE(convert(folder_ / "d4", other));
  other.writer.shard.record_type = "photo";
  ASSERT_TRUE(convert(folder_ / "d5", other));
  std::filesystem::create_directory(folder_ / "flat");
  for (const int d : {1, 2}) {
    std::filesystem::copy(folder_ / ("d" + std::to_string(d) + "/shard-000000.dvt"),
                          folder_ / ("flat/" + std::to_string(d) + ".dvt"));
  }
  const std::string of_classes = "label 0 is \"dog\" here, but \"cat\" in ";
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"d[12]/shard-*.dvt", "d2/shard-000000.dvt", of_classes + (folder_ / "d1/shard-000000.dvt")},
      {"flat/*.dvt", "flat/2.dvt", of_classes + (folder_ / "flat/1.dvt")},
      {"d[34]/shard-*.dvt", "d4/shard-000000.dvt", "the schema is \"label:i64\" here, but \"__key__:bytes,"},
      {"d[45]/shard-*.dvt", "d5/shard-000000.dvt", "the record type is \"photo\" here, but \"example\" in "},
  };
  for (const auto& [source, file, says] : cases) {
    EXPECT_THAT(convert(folder_ / "to", {.sources = {folder_ / source}}),
                Fails(Errc::invalid_option).in(folder_ / file).saying(says))
        << source;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "to"));
    EXPECT_FALSE(export_tfrecords(folder_ / "to.tfrecord", {.sources = {folder_ / source}}));
  }
  ASSERT_TRUE(convert(folder_ / "to", {.sources = {folder_ / "d[13]/shard-*.dvt"}}));
}

TEST_F(FolderLabelsTest, HiddenFilesAndFoldersAreNoRecordsAndNoClasses) {
  put("cat/1", "x");
  put("dog/1", "y");
  put(".git/config", "z");
  put(".git/objects/aa", "z");
  put(".DS_Store", "z");
  put("cat/.DS_Store", "z");
  EXPECT_THAT(read({.labels = true}), ElementsAre("__key__=<cat/1> class=<cat> data=<x> label=[0]",
                                                  "__key__=<dog/1> class=<dog> data=<y> label=[1]"));
  const RecordSource source = RecordSource::open(root_, {.labels = true}).value();
  EXPECT_EQ(source.files(), 2u);
  EXPECT_EQ(source.left_out(), LeftOut{.hidden = 3}) << "a folder counts once";
  EXPECT_THAT(source.classes(), ElementsAre("cat", "dog"));

  ConvertOptions options{.sources = {root_}, .source = {.labels = true}};
  const ConvertReport report = convert(folder_ / "to", options).value();
  ASSERT_EQ(report.sources.size(), 1u);
  EXPECT_EQ(report.sources[0].format, SourceFormat::folder);
  EXPECT_EQ(report.sources[0].left_out, LeftOut{.hidden = 3});
  EXPECT_THAT(report.sources[0].classes, ElementsAre("cat", "dog"));
}

TEST_F(FolderLabelsTest, AFolderOfHiddenFilesSaysSo) {
  put(".DS_Store", "z");
  EXPECT_THAT(RecordSource::open(root_),
              Fails(Errc::empty_input).saying("only files that are left out: 1 hidden file or folder"));
}

// Without it the classes behind it would get other numbers.
TEST_F(FolderLabelsTest, AClassWithoutAFileIsRefused) {
  namespace fs = std::filesystem;
  put("dog/1.jpg", "x");
  const struct {
    const char* name;
    std::function<void(const std::string& folder)> fill;
    const char* says;
  } kCases[] = {
      {"empty", [](const std::string&) {}, "has no file"},
      {"folders only", [](const std::string& folder) { fs::create_directories(folder + "/a/b"); }, "has no file"},
      {"hidden", [](const std::string& folder) { write_file(folder + "/.DS_Store", ""); }, "1 hidden file"},
      {"dangling", [](const std::string& folder) { fs::create_symlink("gone", folder + "/1.jpg"); }, "fetch the"},
      {"dangling and excluded",
       [](const std::string& folder) {
         fs::create_symlink("gone", folder + "/1.jpg");
         write_file(folder + "/1.txt", "");
       },
       "fetch the"},
  };
  for (const auto& [name, fill, says] : kCases) {
    fs::create_directory(root_ + "/cat");
    fill(root_ + "/cat");
    SCOPED_TRACE(name);
    for (const std::vector<std::string>& classes : {std::vector<std::string>{}, {"dog", "cat"}}) {
      EXPECT_THAT(RecordSource::open(root_, {.labels = true, .classes = classes, .exclude = {"*.txt"}}),
                  Fails(Errc::empty_input).in(root_ + "/cat").saying(says).saying("remove the folder or --exclude it"));
    }
    EXPECT_THAT(RecordSource::open(root_, {.labels = true, .exclude = {"cat"}}).value().classes(), ElementsAre("dog"));
    fs::remove_all(root_ + "/cat");
  }
}

TEST_F(FolderLabelsTest, AClassOfWhichPatternsLeaveNoFileIsNone) {
  put("cat/1.txt", "x");
  put("cow/raw/1.jpg", "x");
  put("dog/1.jpg", "x");
  for (const SourceOptions& options : {SourceOptions{.labels = true, .include = {"*.jpg"}, .exclude = {"raw"}},
                                       SourceOptions{.labels = true, .include = {"dog/*"}}}) {
    EXPECT_THAT(RecordSource::open(root_, options).value().classes(), ElementsAre("dog"));
  }
}

TEST_F(FolderLabelsTest, LeavesOutFilesWithoutALabelAndCountsThem) {
  put("loose.csv", "x");
  EXPECT_THAT(RecordSource::open(root_, {.labels = true}), Fails(Errc::empty_input).saying("1 file in no subfolder"));
  put("a/1", "x");
  EXPECT_THAT(read({.labels = true}), ElementsAre("__key__=<a/1> class=<a> data=<x> label=[0]"));
  EXPECT_EQ(RecordSource::open(root_, {.labels = true}).value().left_out(), LeftOut{.unlabelled = 1});
}

TEST_F(FolderLabelsTest, RefusesLabelsWhereThereIsNoPlaceForThem) {
  put("a/1", "text\n");
  EXPECT_THAT(RecordSource::open(root_, {.records = RecordForm::raw, .labels = true}), Fails(Errc::invalid_option));
  EXPECT_THAT(RecordSource::open(root_ + "/a/1", {.labels = true}),
              Fails(Errc::invalid_option).saying("lines has no labels"));
  for (const SourceOptions& options : {SourceOptions{.first = 1}, SourceOptions{.sample = 0.5}}) {
    EXPECT_THAT(RecordSource::open(root_, options), Fails(Errc::invalid_option));
  }
}

TEST_F(FolderLabelsTest, RefusesExamplesAboveTheLimit) {
  put("a/1", std::string(50, 'x'));
  EXPECT_THAT(read_source(root_, {.max_record_bytes = 60, .labels = true}),
              Fails(Errc::record_too_large).in(root_ + "/a/1"));
}

}  // namespace
}  // namespace dovetail::test
