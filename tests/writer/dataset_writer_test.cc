// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset_writer.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "format/example/example_encoder.h"
#include "format/layout.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sanitizers.h"
#include "writer/dataset_files.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

/// An Example with one feature.
std::string int_example(std::string_view name, const std::vector<std::int64_t>& values) {
  format::ExampleEncoder encoder;
  encoder.add_ints(name, values);
  std::vector<std::byte> record;
  encoder.encode(record).value();
  return std::string(as_chars(record));
}

class DatasetWriterTest : public FolderTest {
 protected:
  DatasetWriterOptions options() const {
    return {.shard = {.block_bytes = 2048, .run_bytes = 10'000, .dataset_id = id_}, .encode_threads = 2};
  }
  DatasetWriter create(const DatasetWriterOptions& options) { return DatasetWriter::create(data_, options).value(); }
  static void append(DatasetWriter& writer, const Records& records) {
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
  }
  DatasetInfo write(const Records& records, const DatasetWriterOptions& options) {
    DatasetWriter writer = create(options);
    append(writer, records);
    return writer.finish().value();
  }
  std::vector<std::uint64_t> shard_records() const {
    std::vector<std::uint64_t> counts;
    for (const ShardInfo& info : read_dataset(data_).infos) counts.push_back(info.records);
    return counts;
  }
  std::vector<std::string> names() const { return names_in(data_); }

  const std::string data_ = folder_ / "data";
  const DatasetId id_ = sample_dataset_id();
};

TEST_F(DatasetWriterTest, WritesRecordsThatComeBackInOrder) {
  const Records records = sample_records(2000, 500, 1);
  DatasetWriterOptions small = options();
  small.shard_bytes = 100'000;
  const DatasetInfo info = write(records, small);
  const DecodedDataset dataset = read_dataset(data_);
  EXPECT_EQ(dataset.records, records);
  EXPECT_EQ(info.shards, dataset.infos);
  EXPECT_EQ(info.manifest, data_ + "/manifest.dvt");
  EXPECT_EQ(info.id, id_);
  EXPECT_GT(dataset.infos.size(), 2u);
  EXPECT_EQ(names().size(), dataset.infos.size() + 1) << "and nothing else";
}

TEST_F(DatasetWriterTest, ClosesAShardWithTheRecordThatFillsIt) {
  DatasetWriterOptions small = options();
  small.shard_bytes = 1000;
  write(Records(7, std::string(400, 'x')), small);
  EXPECT_THAT(shard_records(), ElementsAre(3, 3, 1));
  small.shard.overwrite = true;
  write(Records(6, std::string(400, 'x')), small);
  EXPECT_THAT(shard_records(), ElementsAre(3, 3)) << "no shard is begun for records that do not come";
}

TEST_F(DatasetWriterTest, WritesTheSameBytesForAnyNumberOfThreads) {
  const Records records = sample_records(1500, 1500, 2);
  std::vector<Bytes> first;
  for (const unsigned threads : {1u, 2u, 4u}) {
    DatasetWriterOptions wide = options();
    wide.shard_bytes = 300'000;
    wide.encode_threads = threads;
    wide.shard.overwrite = true;
    write(records, wide);
    std::vector<Bytes> files;
    for (const std::string& name : names()) files.push_back(read_file(data_ + '/' + name));
    if (first.empty()) first = files;
    EXPECT_EQ(files, first) << threads << " threads";
  }
}

TEST_F(DatasetWriterTest, WritesTheBytesOfARecordWriter) {
  const Records records = sample_records(800, 900, 3);
  const DatasetWriterOptions one = options();
  write(records, one);
  RecordWriter writer = RecordWriter::create(folder_ / "single.dvt", one.shard).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  writer.finish().value();
  EXPECT_EQ(read_file(data_ + "/shard-000000.dvt"), read_file(folder_ / "single.dvt"));
}

TEST_F(DatasetWriterTest, UsesTheRunThatTheFirstRecordsChoseForAllShards) {
  DatasetWriter writer = create(options());
  append(writer, Records(3, std::string(100, 'a')));
  ASSERT_TRUE(writer.next_shard());
  append(writer, Records(300, std::string(10, 'b')));
  ASSERT_TRUE(writer.finish());
  for (const ShardInfo& info : read_dataset(data_).infos) EXPECT_EQ(info.run_records, 100u);
}

TEST_F(DatasetWriterTest, MakesExactlyTheShardsThatWereAskedFor) {
  constexpr std::pair<std::uint64_t, std::uint64_t> kShares[] = {{0, 2}, {2, 5}, {5, 7}, {7, 100}};
  for (const std::uint64_t records : {0u, 1u, 5u, 10u, 13u}) {
    DatasetWriterOptions counted = options();
    counted.shards = 4;
    counted.expected_records = 10;
    counted.shard_bytes = 1;  // has no say
    counted.shard.overwrite = true;
    write(Records(records, "x"), counted);
    std::vector<std::uint64_t> expected;
    for (const auto& [begin, end] : kShares) {
      expected.push_back(std::min(records, end) - std::min(records, begin));
    }
    EXPECT_EQ(shard_records(), expected) << records << " records";
  }
}

TEST_F(DatasetWriterTest, MakesMoreShardsThanRecords) {
  DatasetWriterOptions counted = options();
  counted.shards = 7;
  counted.expected_records = 2;
  write({"a", "b"}, counted);
  EXPECT_THAT(shard_records(), ElementsAre(0, 0, 0, 1, 0, 0, 1));
}

TEST_F(DatasetWriterTest, EndsShardsWhereItIsTold) {
  DatasetWriterOptions manual = options();
  manual.shard_bytes = 0;
  DatasetWriter writer = create(manual);
  ASSERT_TRUE(writer.next_shard());
  append(writer, {"a", "b"});
  ASSERT_TRUE(writer.next_shard());
  ASSERT_TRUE(writer.next_shard());
  append(writer, {"c"});
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(shard_records(), ElementsAre(0, 2, 0, 1));
}

TEST_F(DatasetWriterTest, TakesNextShardAfterAFullShardForItsEnd) {
  DatasetWriterOptions small = options();
  small.shard_bytes = 2;
  DatasetWriter writer = create(small);
  append(writer, {"a", "b"});
  ASSERT_TRUE(writer.next_shard());
  append(writer, {"c"});
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(shard_records(), ElementsAre(2, 1));
}

TEST_F(DatasetWriterTest, RefusesNextShardWhereShardsAreCounted) {
  DatasetWriterOptions counted = options();
  counted.shards = 2;
  counted.expected_records = 2;
  DatasetWriter writer = create(counted);
  EXPECT_THAT(writer.next_shard(), Fails(Errc::invalid_option));
  append(writer, {"a", "b"});
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(shard_records(), ElementsAre(1, 1));
}

TEST_F(DatasetWriterTest, WritesAnEmptyDataset) {
  const DatasetInfo info = write({}, options());
  EXPECT_THAT(info.shards, IsEmpty());
  EXPECT_THAT(names(), ElementsAre("manifest.dvt"));
  EXPECT_THAT(read_dataset(data_).records, IsEmpty());
}

TEST_F(DatasetWriterTest, WritesAManifestWithFixedRunsUnderAnIdOfItsOwn) {
  write({"a"}, options());
  const DecodedShard manifest = read_shard_file(data_ + "/manifest.dvt");
  EXPECT_EQ(manifest.header.dataset_id, id_);
  EXPECT_EQ(manifest.header.shard_number, 0xFFFFFFFFu);
  EXPECT_EQ(manifest.tail.footer.info.run_records, 4096u);
  EXPECT_EQ(manifest.metadata.record_type, format::kManifestRecordType);
  EXPECT_THAT(manifest.metadata.writer, StartsWith("dovetail "));
}

TEST_F(DatasetWriterTest, WritesARecordAboveEverySharedBlock) {
  const std::string huge(std::size_t{70} << 20, 'x');
  write({"before", huge, "after"}, options());
  const DecodedDataset dataset = read_dataset(data_);
  ASSERT_EQ(dataset.records.size(), 3u);
  EXPECT_TRUE(dataset.records[1] == huge) << "70 MiB differ";
  EXPECT_EQ(dataset.records[2], "after");
}

TEST_F(DatasetWriterTest, CountsWhatItWasGiven) {
  DatasetWriter writer = create(options());
  append(writer, {"abc", "", "d"});
  EXPECT_EQ(writer.records(), 3u);
  EXPECT_EQ(writer.raw_bytes(), 4u);
}

TEST_F(DatasetWriterTest, RefusesARecordAboveItsLimitAndGoesOn) {
  DatasetWriterOptions limited = options();
  limited.shard.max_record_bytes = 3;
  DatasetWriter writer = create(limited);
  EXPECT_THAT(writer.append(as_bytes("abcd")), Fails(Errc::record_too_large));
  append(writer, {"abc"});
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(read_dataset(data_).records, ElementsAre("abc"));
}

TEST_F(DatasetWriterTest, RefusesAFirstRecordThatDoesNotFitTheSchemaAndGoesOn) {
  const std::string fits = int_example("label", {7});
  const std::string other = int_example("label", {7, 8});
  DatasetWriterOptions typed = options();
  typed.shard.schema = parse_schema("label:i64, weight:f32=1, tokens:i32[*]=[]").value();
  DatasetWriter writer = create(typed);
  EXPECT_THAT(writer.append(other), Fails(Errc::invalid_option)
                                        .of(ErrorKind::usage)
                                        .in(data_)
                                        .saying("schema = label:i64, weight:f32=1, tokens:i32[*]=[]: record 0, column "
                                                "\"label\": 2 values, expected 1")
                                        .saying("check_schema = false"));
  EXPECT_THAT(writer.append(int_example("labels", {7})),
              Fails(Errc::invalid_option).saying("record 0, column \"label\": the record has no such feature"));
  EXPECT_THAT(writer.append(as_bytes("text")), Fails(Errc::invalid_option).saying("record 0: the record is text"));
  EXPECT_EQ(writer.records(), 0u);
  append(writer, {fits, other});  // only the first is checked
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(read_dataset(data_).records, ElementsAre(fits, other));
}

TEST_F(DatasetWriterTest, StoresASchemaUncheckedWhereAsked) {
  DatasetWriterOptions unchecked = options();
  unchecked.shard.schema = parse_schema("label:i64").value();
  unchecked.shard.check_schema = false;
  write({"text"}, unchecked);
  EXPECT_THAT(read_dataset(data_).records, ElementsAre("text"));
}

TEST_F(DatasetWriterTest, ShowsNothingUnderTheNameOfTheTargetBeforeTheEnd) {
  DatasetWriterOptions small = options();
  small.shard_bytes = 1000;
  DatasetWriter writer = create(small);
  append(writer, sample_records(600, 200, 4));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data.partial"));
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
}

TEST_F(DatasetWriterTest, RemovesAllItMadeWhenAbandoned) {
  DatasetWriterOptions small = options();
  small.shard_bytes = 1000;
  {
    DatasetWriter writer = DatasetWriter::create(folder_ / "above/more/data", small).value();
    append(writer, sample_records(600, 200, 5));
    writer.abandon();
    EXPECT_THAT(names_in(folder_.path()), IsEmpty()) << "the folders above too: the writer made them";
    EXPECT_THAT(writer.append(""), Fails(Errc::closed));
    EXPECT_THAT(writer.next_shard(), Fails(Errc::closed));
    EXPECT_THAT(writer.finish(), Fails(Errc::closed));
  }
  { const DatasetWriter destroyed = create(small); }
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(DatasetWriterTest, TakesAnEmptyFolderAndKeepsItUntilTheEnd) {
  fs::create_directory(data_);
  fs::permissions(data_, fs::perms::owner_all | fs::perms::group_read);
  { const auto unfinished = create(options()); }
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
  EXPECT_THAT(names(), IsEmpty());
  DatasetWriterOptions again = options();
  for (again.shard.overwrite = false;; again.shard.overwrite = true) {
    write({"a"}, again);
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
    EXPECT_EQ(fs::status(data_).permissions(), fs::perms::owner_all | fs::perms::group_read) << "those that it had";
    if (again.shard.overwrite) break;
  }
}

TEST_F(DatasetWriterTest, RefusesAFolderWithAnythingElse) {
  const std::string cases[] = {"notes.txt", ".hidden", "shard-1.dvt", "more/notes.txt", "val/manifest.dvt", "empty/"};
  for (const std::string& foreign : cases) {
    fs::remove_all(data_);
    write({"a"}, options());
    const std::string path = data_ + '/' + foreign;
    fs::create_directories(fs::path(path).parent_path());
    if (!foreign.ends_with('/')) write_file(path, "somebody's");
    const auto before = names();
    DatasetWriterOptions again = options();
    for (const bool overwrite : {false, true}) {
      again.shard.overwrite = overwrite;
      const auto refused = DatasetWriter::create(data_, again);
      ASSERT_THAT(refused, Fails(Errc::already_exists)) << foreign;
      EXPECT_THAT(path, StartsWith(refused.error().path()));
      EXPECT_THAT(refused.error().path(), StartsWith(data_ + '/'));
      EXPECT_THAT(refused, Fails().saying("subfolder, such as " + data_ + "/data"));
    }
    EXPECT_EQ(names(), before);
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
  }
}

TEST_F(DatasetWriterTest, NothingHappensToAFinishedDataset) {
  {
    DatasetWriter writer = create(options());
    append(writer, {"a"});
    ASSERT_TRUE(writer.finish());
    writer.abandon();
    EXPECT_THAT(writer.finish(), Fails(Errc::closed));
  }
  EXPECT_THAT(names(), ElementsAre("manifest.dvt", "shard-000000.dvt"));
}

TEST_F(DatasetWriterTest, RefusesAFolderThatHoldsADataset) {
  write({"a"}, options());
  EXPECT_THAT(DatasetWriter::create(data_, options()), Fails(Errc::already_exists).in(data_).saying("--overwrite"));
  ASSERT_EQ(::remove((data_ + "/manifest.dvt").c_str()), 0);
  EXPECT_THAT(DatasetWriter::create(data_, options()), Fails(Errc::already_exists)) << "its shards are there";
}

TEST_F(DatasetWriterTest, LeavesTheOldDatasetAloneUntilTheNewOneIsWhole) {
  write({"old", "older"}, options());
  DatasetWriterOptions again = options();
  again.shard.overwrite = true;
  {
    DatasetWriter writer = create(again);
    append(writer, sample_records(600, 200, 6));
    EXPECT_THAT(read_dataset(data_).records, ElementsAre("old", "older"));
  }
  EXPECT_THAT(read_dataset(data_).records, ElementsAre("old", "older"));
  EXPECT_THAT(names(), ElementsAre("manifest.dvt", "shard-000000.dvt"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
}

TEST_F(DatasetWriterTest, IsAloneWithItsFolder) {
  DatasetWriterOptions again = options();
  again.shard.overwrite = true;
  DatasetWriter writer = create(again);
  append(writer, {"a"});
  const Result<DatasetWriter> other = DatasetWriter::create(data_, again);
  ASSERT_THAT(other, Fails(Errc::busy).in(data_ + ".partial"));
  EXPECT_EQ(other.error().to_string(), data_ + ".partial: in use: another process writes here");
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(read_dataset(data_).records, ElementsAre("a"));
}

TEST_F(DatasetWriterTest, ReplacesALargerDatasetWithoutLeftovers) {
  DatasetWriterOptions many = options();
  many.shards = 5;
  many.expected_records = 5;
  write(Records(5, "old"), many);
  DatasetWriterOptions again = options();
  again.shard.overwrite = true;
  write({"new"}, again);
  EXPECT_THAT(read_dataset(data_).records, ElementsAre("new"));
  EXPECT_THAT(names(), ElementsAre("manifest.dvt", "shard-000000.dvt"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
}

TEST_F(DatasetWriterTest, PublishesNothingWhereTheNameIsTakenMeanwhile) {
  struct Case {
    std::string taken;
    bool overwrite;
    Errc code;
  };
  const Case cases[] = {{"data/shard-000000.dvt", false, Errc::already_exists},
                        {"data/notes.txt", true, Errc::already_exists},
                        {"data", true, Errc::invalid_option}};
  for (const auto& [taken, overwrite, code] : cases) {
    fs::remove_all(data_);
    DatasetWriterOptions wanted = options();
    wanted.shard.overwrite = overwrite;
    DatasetWriter writer = create(wanted);
    append(writer, {"a", "b", "c"});
    fs::create_directories(fs::path(folder_ / taken).parent_path());
    write_file(folder_ / taken, "somebody else's");
    const auto finished = writer.finish();
    ASSERT_THAT(finished, Fails(code)) << taken;
    EXPECT_THAT(folder_ / taken, StartsWith(finished.error().path()));
    EXPECT_THAT(writer.append(""), Fails(code)) << "the first failure is final";
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
    EXPECT_EQ(as_chars(read_file(folder_ / taken)), "somebody else's");
    EXPECT_TRUE(!fs::is_directory(data_) || names().size() == 1);
  }
}

TEST_F(DatasetWriterTest, RefusesOptionsOutOfRange) {
  const auto refusal = [this](auto change) {
    DatasetWriterOptions changed = options();
    change(changed);
    const auto refused = DatasetWriter::create(data_, changed);
    EXPECT_THAT(refused, Fails(Errc::invalid_option));
    return refused ? std::string() : refused.error().detail();
  };
  EXPECT_THAT(refusal([](auto& o) { o.shard.block_bytes = 1; }), HasSubstr("block_bytes = 1:"));
  EXPECT_THAT(refusal([](auto& o) { o.shards = 3; }), HasSubstr("expected_records = 0"));
  EXPECT_THAT(refusal([](auto& o) { o.shards = 1'000'001; }), HasSubstr("shards = 1000001"));
  EXPECT_THAT(refusal([](auto& o) { o.encode_threads = 1025; }), HasSubstr("encode_threads = 1025"));
  EXPECT_THAT(refusal([](auto& o) { o.shard.metadata["k"].resize(20u << 20); }), HasSubstr("metadata"));
  EXPECT_THAT(DatasetWriter::create(""), Fails(Errc::invalid_option));
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(DatasetWriterTest, SaysThatItIsClosedAfterAMove) {
  DatasetWriter writer = create(options());
  const DatasetWriter taken = std::move(writer);
  EXPECT_THAT(writer.append(""), Fails(Errc::closed));
  EXPECT_THAT(writer.next_shard(), Fails(Errc::closed));
  EXPECT_THAT(writer.finish(), Fails(Errc::closed));
  EXPECT_EQ(writer.records() + writer.raw_bytes(), 0u);
  writer.abandon();
}

TEST(DatasetFilesTest, NamesSortLikeTheirShards) {
  EXPECT_EQ(detail::shard_name(0), "shard-000000.dvt");
  EXPECT_EQ(detail::shard_name(999'999), "shard-999999.dvt");
  EXPECT_EQ(detail::shard_number_of("shard-000042.dvt"), 42u);
  for (const char* other : {"shard-42.dvt", "shard-0000042.dvt", "shard-000042.dvt2", "shard-00004x.dvt", "shard-",
                            "manifest.dvt", "shard-99999999999.dvt", "shard--00042.dvt"}) {
    EXPECT_EQ(detail::shard_number_of(other), std::nullopt) << other;
  }
}

TEST(DatasetWriterForkTest, AForkedChildLeavesTheWriterToItsParent) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not follow a process with threads into a fork";
  const TempFolder folder;
  DatasetWriterOptions options{.shard_bytes = 20'000, .encode_threads = 2};
  auto writer = std::make_unique<DatasetWriter>(DatasetWriter::create(folder / "data", options).value());
  const std::string record(1000, 'x');
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer->append(as_bytes(record)));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const Result<void> appended = writer->append(as_bytes(record));
    writer.reset();
    ::_exit(!appended && appended.error().is(Errc::closed) ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer->append(as_bytes(record)));
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(read_dataset(folder / "data").records.size(), 200u);
}

}  // namespace
}  // namespace dovetail::test
