// SPDX-License-Identifier: Apache-2.0
// Going forward in a source: ranges by input bytes hold each record once, wherever they are cut.
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/convert/sources.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

class SourceRangeTest : public FolderTest {
 protected:
  SourceRangeTest() { std::filesystem::create_directory(root_); }

  void expect_ranges_hold_each_record_once() { EXPECT_THAT(parts_that_differ(root_), IsEmpty()); }

  const std::string root_ = folder_ / "source";
};

TEST_F(SourceRangeTest, HoldsEachFileOfAFolderOnce) {
  for (int i = 0; i < 40; ++i) {
    write_file(root_ + "/" + std::to_string(i), std::string(static_cast<std::size_t>(i) * 7 % 30, 'x'));
  }
  expect_ranges_hold_each_record_once();
}

TEST_F(SourceRangeTest, HoldsEachPlainTfrecordOnce) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    write_file(root_ + "/" + std::to_string(i) + ".tfrecord", tfrecord_bytes(sample_records(60, 300, i)));
  }
  expect_ranges_hold_each_record_once();
}

TEST_F(SourceRangeTest, HoldsEachCompressedTfrecordOnce) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::string plain = tfrecord_bytes(sample_records(60, 300, i));
    write_file(root_ + "/" + std::to_string(i) + ".tfrecord.gz", i % 2 == 0 ? gzip(plain) : zlib(plain));
  }
  expect_ranges_hold_each_record_once();
}

TEST_F(SourceRangeTest, HoldsEachLineOfJsonAndEachRowOfCsvOnce) {
  std::string lines = "\xEF\xBB\xBF";
  std::string rows = lines + "number,text\n";
  for (int i = 0; i < 400; ++i) {
    const std::string number = std::to_string(i);
    if (i % 7 == 3) lines += " \n";
    if (i % 7 == 3) rows += '\n';
    lines += "{\"number\": " + number + ", \"text\": \"" + std::string(static_cast<std::size_t>(i % 50), 'x') + "\"}\n";
    rows += number + ",\"a \"\"quoted\"\"\nline\"\n";
  }
  const auto with_faults = [](const std::string& text) { return text + "{\"number\": 1, x\n" + text + "a,b,c,d\n"; };
  for (const auto& [name, text] : {std::pair("a.jsonl", lines), std::pair("a.csv", rows)}) {
    for (const RecordForm form : {RecordForm::raw, RecordForm::example}) {
      for (const bool packed : {false, true}) {
        const std::string path = root_ + "/" + name + (packed ? ".gz" : "");
        write_file(path, packed ? gzip(text) : text);
        EXPECT_THAT(parts_that_differ(path, {.records = form}), IsEmpty()) << path;
        write_file(path, packed ? gzip(with_faults(text)) : with_faults(text));
        EXPECT_THAT(parts_that_differ(path, {.records = form, .on_error = OnError::skip}), IsEmpty()) << path;
      }
    }
  }
}

TEST_F(SourceRangeTest, ParsesNoLineThatItSkips) {
  const std::string path = root_ + "/a.jsonl";
  write_file(path, "{\"n\": 1}\n{\"n\": \n{\"n\": 3}\n");
  RecordSource source = RecordSource::open(path, {.records = RecordForm::example}).value();
  source.skip_to(16).value();
  EXPECT_TRUE(source.next().value());
  EXPECT_EQ(source.line(), 3u);
  RecordSource whole = RecordSource::open(path, {.records = RecordForm::example}).value();
  EXPECT_TRUE(whole.next().value());
  EXPECT_THAT(whole.next(), Fails(Errc::malformed_input).in(path));
}

TEST_F(SourceRangeTest, GoesOnlyForward) {
  for (const char* const name : {"a", "b", "c", "d"}) write_file(root_ + "/" + name, std::string(2, *name));
  RecordSource source = RecordSource::open(root_, {.records = RecordForm::raw}).value();
  source.skip_to(3).value();
  source.skip_to(0).value();
  EXPECT_EQ(as_chars(source.next().value().value()), "cc");
  EXPECT_EQ(source.key(), "c");
  source.skip_to(6).value();
  EXPECT_EQ(as_chars(source.next().value().value()), "dd");
  source.skip_to(100).value();
  source.skip_to(100).value();
  EXPECT_FALSE(source.next().value());
}

TEST_F(SourceRangeTest, DoesNotOpenFilesThatLieBefore) {
  write_file(root_ + "/a", "first");
  write_file(root_ + "/b", "second");
  RecordSource source = RecordSource::open(root_, {.records = RecordForm::raw}).value();
  std::filesystem::remove(root_ + "/a");
  source.skip_to(5).value();
  EXPECT_EQ(as_chars(source.next().value().value()), "second");
}

TEST_F(SourceRangeTest, NoticesAFileThatIsNotAsLongAsItWas) {
  for (const OnError on_error : {OnError::fail, OnError::skip}) {
    for (const char* const now : {"onetwo", "onetwo\nthree\nfour\n", ""}) {
      write_file(root_ + "/a.jsonl", "1\n");
      write_file(root_ + "/b.jsonl", "2\n3\n");
      RecordSource source = RecordSource::open(root_, {.on_error = on_error}).value();
      write_file(root_ + "/b.jsonl", now);
      EXPECT_EQ(as_chars(source.next().value().value()), "1");
      EXPECT_THAT(source.next(), Fails(Errc::file_changed).in(root_ + "/b.jsonl")) << now;
    }
  }
}

TEST_F(SourceRangeTest, NamesTheFilesOfAFolder) {
  write_file(root_ + "/a", "first");
  std::filesystem::create_directory(root_ + "/below");
  write_file(root_ + "/below/b", "second");
  RecordSource source = RecordSource::open(root_, {.records = RecordForm::raw}).value();
  EXPECT_EQ(source.key(), "");
  std::vector<std::string> keys;
  while (source.next().value()) keys.emplace_back(source.key());
  EXPECT_THAT(keys, ElementsAre("a", "below/b"));
}

}  // namespace
}  // namespace dovetail::test
