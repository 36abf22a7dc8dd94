// SPDX-License-Identifier: Apache-2.0
#include <dovetail/convert.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <dovetail/tfrecord_export.h>

#include "tests/convert/source_fixture.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTime(60);  // longer than it takes until progress is asked again

class ConvertTest : public SourceTest {
 protected:
  ConvertOptions options(std::vector<std::string> sources) const {
    ConvertOptions options{.sources = std::move(sources)};
    options.writer.shard.dataset_id = sample_dataset_id();
    options.jobs = 2;
    return options;
  }
  Result<ConvertReport> run(const ConvertOptions& options) { return convert(out_, options); }
  DecodedDataset result() const { return read_dataset(out_); }
  std::vector<std::uint64_t> shard_records() const {
    std::vector<std::uint64_t> counts;
    for (const ShardInfo& info : result().infos) counts.push_back(info.records);
    return counts;
  }

  const std::string out_ = folder_ / "out";
};

TEST_F(ConvertTest, PacksEverySourceInTheGivenOrder) {
  const std::string last = put("z.txt", "1\n2\n");
  const std::string first = put("a.txt", "3\n4");
  put("files/x.txt", "5\n");
  put("files/y.txt", "");
  ConvertOptions wanted = options({last, first, folder_ / "files"});
  wanted.from = SourceFormat::lines;
  const ConvertReport report = run(wanted).value();
  const DecodedDataset dataset = result();
  EXPECT_THAT(dataset.records, ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(report.records, 5u);
  EXPECT_EQ(report.raw_bytes, 5u);
  EXPECT_EQ(report.files, 4u);
  EXPECT_EQ(report.input_bytes, 4u + 3u + 2u);
  EXPECT_THAT(report.formats, ElementsAre(SourceFormat::lines, SourceFormat::lines, SourceFormat::lines));
  EXPECT_EQ(report.datasets.front().shards, dataset.infos);
}

TEST_F(ConvertTest, RefusesSourcesOfDifferentFormats) {
  const std::string table = put("a.csv", "x,y\n1,2\n");
  const std::string json = put("b.jsonl", "{}\n");
  put("files/x", "5");
  for (const auto& [source, word] : {std::pair(json, "jsonl"), std::pair(folder_ / "files", "folder")}) {
    EXPECT_THAT(run(options({table, table, source})), Fails(Errc::invalid_option)
                                                          .in(source)
                                                          .saying("this is " + std::string(word))
                                                          .saying(table + " is csv")
                                                          .saying("convert each by itself"));
    EXPECT_FALSE(fs::exists(out_));
  }
  ASSERT_TRUE(convert(folder_ / "one", options({table})));
  ASSERT_TRUE(convert(folder_ / "two", options({json})));
  EXPECT_EQ(run(options({folder_ / "one", folder_ / "two"})).value().records, 2u) << "what the error advises";
}

TEST_F(ConvertTest, NamesTheRecordType) {
  const std::string text = put("a.txt", "3\n4");
  ASSERT_TRUE(run(options({text})));
  EXPECT_EQ(result().shards.front().metadata.record_type, "line");
  put("files/x", "5");
  ConvertOptions files = options({folder_ / "files"});
  files.writer.shard.overwrite = true;
  ASSERT_TRUE(run(files));
  EXPECT_EQ(result().shards.front().metadata.record_type, "example");
  files.source.records = RecordForm::raw;
  ASSERT_TRUE(run(files));
  EXPECT_EQ(result().shards.front().metadata.record_type, "file");
  files.writer.shard.record_type = "mine";
  ASSERT_TRUE(run(files));
  EXPECT_EQ(result().shards.front().metadata.record_type, "mine");
  ConvertOptions tfrecords = options({put("a.tfrecord", tfrecord_bytes({"1"}))});
  tfrecords.writer.shard.overwrite = true;
  ASSERT_TRUE(run(tfrecords));
  EXPECT_EQ(result().shards.front().metadata.record_type, "tfrecord");
}

TEST_F(ConvertTest, CutsExactlyAsManyShardsByInputBytes) {
  ConvertOptions eight = options({put("a.txt", std::string(100, '\n'))});
  eight.shards = 8;
  ASSERT_TRUE(run(eight));
  // Line i has i bytes before it and goes to shard 8 i / 100.
  EXPECT_THAT(shard_records(), ElementsAre(13, 12, 13, 12, 13, 12, 13, 12));
}

TEST_F(ConvertTest, KeepsTheOrderAcrossShards) {
  const Records records = sample_records(777, 300, 1);
  for (const std::string& bytes : {tfrecord_bytes(records), gzip(tfrecord_bytes(records))}) {
    ConvertOptions five = options({put("a", bytes), folder_ / "a"});
    five.shards = 5;
    five.writer.shard.overwrite = true;
    ASSERT_TRUE(run(five));
    Records twice = records;
    twice.insert(twice.end(), records.begin(), records.end());
    const DecodedDataset dataset = result();
    EXPECT_TRUE(dataset.records == twice);
    ASSERT_THAT(dataset.infos, SizeIs(5));
    for (const ShardInfo& info : dataset.infos) {
      EXPECT_NEAR(static_cast<double>(info.raw_bytes), static_cast<double>(dataset.infos[0].raw_bytes), 30'000);
    }
  }
}

TEST_F(ConvertTest, MakesEmptyShardsWhereTheInputIsTooSmall) {
  ConvertOptions many = options({put("a.txt", "1\n2\n")});
  many.shards = 7;
  ASSERT_TRUE(run(many));
  EXPECT_THAT(shard_records(), ElementsAre(1, 0, 0, 1, 0, 0, 0));
  put("files/x", "");
  ConvertOptions nothing = options({folder_ / "files"});
  nothing.shards = 3;
  nothing.writer.shard.overwrite = true;
  ASSERT_TRUE(run(nothing));
  EXPECT_THAT(shard_records(), ElementsAre(1, 0, 0)) << "records without a single byte";
}

TEST_F(ConvertTest, GivesTheSameBytesAgain) {
  const std::string source = put("a", gzip(tfrecord_bytes(sample_records(500, 900, 2))));
  std::vector<Bytes> first;
  for (const unsigned threads : {1u, 3u}) {
    ConvertOptions three = options({source});
    three.shards = 3;
    three.jobs = threads;
    three.writer.shard.overwrite = true;
    ASSERT_TRUE(run(three));
    std::vector<Bytes> files;
    for (const std::string& name : names_in(out_)) files.push_back(read_file(out_ + '/' + name));
    EXPECT_THAT(files, SizeIs(4));
    if (first.empty()) first = files;
    EXPECT_EQ(files, first);
  }
}

TEST_F(ConvertTest, LeavesNothingBehindWhereThereIsNoRecord) {
  ConvertOptions empty = options({put("a", "")});
  empty.from = SourceFormat::tfrecord;
  EXPECT_THAT(run(empty), Fails(Errc::empty_input).in(folder_ / "a"));
  EXPECT_FALSE(fs::exists(out_));

  fs::create_directory(folder_ / "nothing");
  EXPECT_THAT(run(options({folder_ / "nothing"})), Fails(Errc::empty_input));
  EXPECT_THAT(run(options({})), Fails(Errc::empty_input));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ConvertTest, LeavesNothingBehindAfterDamage) {
  std::string damaged = tfrecord_bytes(sample_records(300, 900, 3));
  damaged.resize(damaged.size() - 1);
  ConvertOptions small = options({put("a", damaged)});
  small.writer.shard_bytes = 10'000;
  EXPECT_THAT(run(small), Fails(Errc::truncated).in(folder_ / "a"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ConvertTest, FindsEverySourceBeforeItWritesAnything) {
  const std::string good = put("a.txt", "1\n");
  EXPECT_THAT(run(options({good, folder_ / "missing"})), Fails(ErrorKind::io).in(folder_ / "missing"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ConvertTest, StopsWhereNoRecordComesForLong) {
  ConvertOptions options = this->options({put("a.txt", std::string(20 << 20, 'x') + '\n')});
  int calls = 0;
  options.progress = [&](const ConvertProgress& progress) {
    EXPECT_EQ(progress.records, 0u);
    std::this_thread::sleep_for(kTime);
    return ++calls < 8;
  };
  EXPECT_THAT(run(options), Fails(ErrorKind::cancelled));
  EXPECT_EQ(calls, 8) << "of 20 pieces of 1 MiB, of a single line";
}

TEST_F(ConvertTest, AsksSeldomHoweverManyFilesAreRead) {
  for (int i = 0; i < 2000; ++i) put("many/" + std::to_string(i), "x");
  ConvertOptions options = this->options({folder_ / "many"});
  std::atomic<int> calls = 0;
  options.progress = [&](const ConvertProgress&) {
    ++calls;
    return true;
  };
  const auto began = std::chrono::steady_clock::now();
  run(options).value();
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_LE(calls, 40 + 4 * took / kTime) << "for 2000 files";
}

TEST_F(ConvertTest, WhatProgressThrowsComesOutWhoeverAsksIt) {
  const std::string tar = tar_bytes({{"a.txt", std::string(4 << 20, 'x')}, {"b.txt", std::string(4 << 20, 'x')}});
  ConvertOptions options = this->options({put("a.tar", tar)});
  options.jobs = 1;
  for (int last = 1; last <= 6; ++last) {
    int calls = 0;
    options.progress = [&](const ConvertProgress&) {
      std::this_thread::sleep_for(kTime);
      if (++calls == last) throw std::out_of_range("said by progress");
      return true;
    };
    EXPECT_THROW((void)run(options), std::out_of_range) << "at call " << last;
    EXPECT_EQ(calls, last);
  }
}

TEST_F(ConvertTest, StopsWhenProgressSaysSo) {
  ConvertOptions counted = options({put("a.txt", "1\n2\n3\n4\n")});
  int calls = 0;
  counted.progress = [&](const ConvertProgress& progress) {
    EXPECT_EQ(progress.input_total, 8u);
    EXPECT_EQ(progress.records, 0u);
    ++calls;
    return false;
  };
  EXPECT_THAT(run(counted), Fails(ErrorKind::cancelled));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(fs::exists(out_)) << "no shard was finished, so there is nothing to go on with";
}

TEST_F(ConvertTest, ProgressAddsUpToAllOfTheInput) {
  std::vector<std::string> sources;
  for (int i = 0; i < 6; ++i) {
    sources.push_back(put("a" + std::to_string(i), tfrecord_bytes(sample_records(3000, 900, 5))));
  }
  ConvertOptions counted = options(sources);
  counted.shards = 4;
  counted.jobs = 3;
  ConvertProgress last;
  counted.progress = [&](const ConvertProgress& progress) {
    EXPECT_GE(progress.records, last.records);
    EXPECT_GE(progress.input_bytes, last.input_bytes);
    EXPECT_GE(progress.share, last.share);
    last = progress;
    return true;
  };
  const ConvertReport report = run(counted).value();
  EXPECT_EQ(last.records, report.records);
  EXPECT_EQ(last.raw_bytes, report.raw_bytes);
  EXPECT_EQ(last.input_bytes, report.input_bytes);
  EXPECT_EQ(last.input_total, report.input_bytes);
  EXPECT_DOUBLE_EQ(last.share, 1);
}

TEST_F(ConvertTest, DoesNotReplaceADatasetUnasked) {
  const std::string text = put("a.txt", "1\n");
  ASSERT_TRUE(run(options({text})));
  EXPECT_THAT(run(options({text})), Fails(Errc::already_exists));
  EXPECT_THAT(result().records, ElementsAre("1"));
}

TEST_F(ConvertTest, TakesTheFolderOfNothingElse) {
  const std::string text = put("a.txt", "1\n");
  for (const char* const name :
       {"mine.dvt", "shard-7.dvt", "a.tfrecord.dvi", ".mine.dvt", "notes.txt", "sub/notes.txt"}) {
    for (const bool overwrite : {false, true}) {
      ConvertOptions wanted = options({text});
      wanted.writer.shard.overwrite = overwrite;
      const std::string there = put(std::string("out/") + name, "");
      EXPECT_THAT(run(wanted),
                  Fails(Errc::already_exists).in(there).saying("name a subfolder, such as " + (folder_ / "out/data")))
          << name;
      EXPECT_TRUE(std::filesystem::exists(there));
      EXPECT_FALSE(std::filesystem::exists(folder_ / "out.partial"));
      std::filesystem::remove_all(folder_ / "out");
    }
  }
  std::filesystem::create_directory(folder_ / "out");
  EXPECT_TRUE(run(options({text}))) << "an empty folder is taken";
}

TEST_F(ConvertTest, RefusesToWriteIntoItsOwnSource) {
  put("files/x", "1");
  for (const char* target : {"files", "files/out", "files/new/out", "./files/../files/out"}) {
    EXPECT_THAT(convert(folder_ / target, options({folder_ / "files"})), Fails(Errc::invalid_option)) << target;
  }
  EXPECT_THAT(names_in(folder_ / "files"), ElementsAre("x"));
  EXPECT_TRUE(convert(folder_ / "files-out", options({folder_ / "files"}))) << "a name that only begins alike";
}

TEST_F(ConvertTest, RefusesATargetThatIsNoFolder) {
  const std::string text = put("a.txt", "1\n");
  const struct {
    std::string target;
    const char* says;
  } kCases[] = {{text, "give another path"},
                {put("file", "kept"), "give another path"},
                {"s3://bucket/a", "this is a remote address"},
                {"GS://bucket/a", "this is a remote address"}};
  for (const auto& [target, says] : kCases) {
    ConvertOptions wanted = options({text});
    wanted.writer.shard.overwrite = true;
    EXPECT_THAT(convert(target, wanted), Fails(Errc::invalid_option).in(target).saying(says)) << target;
  }
  EXPECT_EQ(read_file(folder_ / "file"), Bytes(as_bytes("kept").begin(), as_bytes("kept").end()));
  EXPECT_THAT(export_tfrecords("s3://bucket/a", {.sources = {text}}), Fails(Errc::invalid_option));
}

TEST_F(ConvertTest, RefusesOptionsThatAreForWritersOnly) {
  const ConvertOptions good = options({put("a.txt", "1\n")});
  const auto refuses = [&](auto change) {
    ConvertOptions wrong = good;
    change(wrong);
    EXPECT_THAT(run(wrong), Fails(Errc::invalid_option));
    EXPECT_FALSE(fs::exists(out_));
  };
  refuses([](ConvertOptions& o) { o.writer.shards = 2, o.writer.expected_records = 1; });
  refuses([](ConvertOptions& o) { o.writer.encode_threads = 2; });
  refuses([](ConvertOptions& o) { o.shards = 1'000'001; });
  refuses([](ConvertOptions& o) { o.memory_bytes = 1000; });
  refuses([](ConvertOptions& o) { o.part = ConvertPart{2, 2}; });
  refuses([](ConvertOptions& o) { o.part = ConvertPart{0, 0}; });
  refuses([](ConvertOptions& o) { o.split = {{"a", 0.5}, {"b", 0.4}}; });
  refuses([](ConvertOptions& o) { o.writer.shard.block_bytes = 1; });
  refuses([](ConvertOptions& o) { o.writer.shard.metadata = {{"dovetail.classes", "x"}}; });
  refuses([](ConvertOptions& o) { o.writer.shard.metadata = {{"dovetail.", "x"}}; });
}

TEST_F(ConvertTest, LimitsRecordsWithTheWritersLimit) {
  ConvertOptions limited = options({put("a.txt", "1\n22\n")});
  limited.writer.shard.max_record_bytes = 1;
  EXPECT_THAT(run(limited), Fails(Errc::record_too_large).in(folder_ / "a.txt").at(2u));
}

TEST_F(ConvertTest, NamesTheFirstErrorWhereEverythingWasSkipped) {
  const std::string good = put("good.tar", std::string(1024, '\0'));
  const std::string bad = put("bad.tar", std::string(2000, 'x'));
  ConvertOptions wanted = options({good, bad, put("worse.tar", "worse")});
  wanted.from = SourceFormat::tar;
  wanted.source.on_error = OnError::skip;
  for (const bool infers : {false, true}) {
    wanted.infer_schema = infers;
    EXPECT_THAT(run(wanted), Fails(Errc::empty_input)
                                 .in(bad)
                                 .at(0)
                                 .saying("no record in any source")
                                 .saying("skipped 2, the first because of malformed input: this is not a tar"));
  }
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ConvertTest, CountsEachRecordThatWasLeftOutOnce) {
  std::string text = "{\"a\": 1}\n";
  for (int i = 0; i < 5000; ++i) text += "{\"bad\":\n";
  text += "{\"a\": 2}\n";
  ConvertOptions wanted = options({put("plain.jsonl", text), put("packed.jsonl.gz", gzip(text))});
  wanted.source.on_error = OnError::skip;
  wanted.shards = 6;
  wanted.writer.shard.overwrite = true;
  for (const unsigned jobs : {1u, 4u}) {
    wanted.jobs = jobs;
    const ConvertReport report = run(wanted).value();
    EXPECT_EQ(report.records, 4u);
    EXPECT_EQ(report.skipped, 10'000u) << "many have the same place in the compressed file";
    EXPECT_THAT(report.first_skipped, SizeIs(20));
    EXPECT_THAT(report.first_skipped.front().error.path(), HasSubstr("plain")) << "the first source";
    EXPECT_EQ(report.first_skipped.front().consumed_bytes, 9u);
  }
}

/// Real TFRecords, where the environment says where they are.
class RealDataTest : public ConvertTest {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("DOVETAIL_TEST_DATA");
    if (folder == nullptr) GTEST_SKIP() << "DOVETAIL_TEST_DATA names no folder with tfx-taxi and tfx-mnist";
    data_ = folder;
  }

  // Decoded apart from the library: TFRecord framing as docs and other programs know it, CRCs not
  // looked at.
  static Records unframe(std::string_view bytes) {
    Records records;
    while (!bytes.empty()) {
      std::uint64_t length = 0;
      std::memcpy(&length, bytes.data(), sizeof(length));
      records.emplace_back(bytes.substr(12, length));
      bytes.remove_prefix(12 + length + 4);
    }
    return records;
  }

  std::string data_;
};

TEST_F(RealDataTest, DigitsComeBackByteForByte) {
  const std::string source = data_ + "/tfx-mnist/mnist.tfrecord";
  ConvertOptions eight = options({source});
  eight.shards = 8;
  EXPECT_EQ(run(eight).value().records, 1000u);
  const DecodedDataset dataset = result();
  const Bytes bytes = read_file(source);
  EXPECT_EQ(tfrecord_bytes(dataset.records), as_chars(bytes));
  EXPECT_TRUE(dataset.records == unframe(as_chars(bytes)));
  EXPECT_THAT(dataset.infos, SizeIs(8));
}

TEST_F(RealDataTest, CompressedTaxiRidesAreAllThere) {
  ConvertOptions eight = options({data_ + "/tfx-taxi"});
  eight.shards = 8;
  const ConvertReport report = run(eight).value();
  EXPECT_EQ(report.records, 9909u);
  EXPECT_EQ(report.files, 12u);
  std::uint64_t records = 0;
  for (const ShardInfo& info : result().infos) {
    EXPECT_NEAR(static_cast<double>(info.records), 9909.0 / 8, 50);
    records += info.records;
  }
  EXPECT_EQ(records, 9909u);
}

}  // namespace
}  // namespace dovetail::test
