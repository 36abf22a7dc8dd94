// SPDX-License-Identifier: Apache-2.0
#include <dovetail/record_writer.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "format/layout.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

class RecordWriterTest : public FolderTest {
 protected:
  ShardInfo write(const Records& records, WriterOptions options, const std::string& name = "s.dvt") {
    RecordWriter writer = RecordWriter::create(folder_ / name, std::move(options)).value();
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    return writer.finish().value();
  }
  DecodedShard read(const std::string& name = "s.dvt") const { return read_shard_file(folder_ / name); }
  std::vector<std::string> names() const { return names_in(folder_.path()); }

  const DatasetId id_ = sample_dataset_id();
};

TEST_F(RecordWriterTest, WritesRecordsThatComeBack) {
  const Records records = sample_records(3000, 600, 7);
  for (const Codec codec : {Codec::none, Codec::snappy, Codec::zstd}) {
    const ShardInfo info = write(records, {.codec = codec, .overwrite = true});
    const DecodedShard shard = read();
    EXPECT_EQ(shard.records, records);
    ShardInfo footer = shard.tail.footer.info;
    footer.name = "s.dvt";
    EXPECT_EQ(info, footer);
    EXPECT_EQ(info.records, 3000u);
    EXPECT_EQ(info.file_bytes, read_file(folder_ / "s.dvt").size());
  }
}

TEST_F(RecordWriterTest, WritesAGoodShardWhileTheCallersBufferChanges) {
  constexpr std::size_t kBytes = 20'000;
  void* const shared = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    for (int value = 0;; ++value) std::memset(shared, value, kBytes);
  }
  const ByteView record(static_cast<const std::byte*>(shared), kBytes);
  for (const std::uint64_t run_records : {std::uint64_t{0}, std::uint64_t{3}}) {
    RecordWriter writer =
        RecordWriter::create(folder_ / "s.dvt", {.run_records = run_records, .overwrite = true}).value();
    for (int i = 0; i < 2000; ++i) writer.append(record).value();
    writer.finish().value();
    EXPECT_EQ(read().records.size(), 2000u);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(shared, kBytes);
}

TEST_F(RecordWriterTest, NotesWhatItWasTold) {
  write({"a"}, {.dataset_id = id_,
                .shard_number = 77,
                .record_type = "letters",
                .schema = parse_schema("label:i64,image:u8[4]").value(),
                .metadata = {{"colour", "blue"}, {"", "no key"}},
                .check_schema = false});
  const DecodedShard shard = read();
  EXPECT_EQ(shard.header.dataset_id, id_);
  EXPECT_EQ(shard.header.shard_number, 77u);
  EXPECT_EQ(shard.metadata.record_type, "letters");
  EXPECT_THAT(shard.metadata.writer, StartsWith("dovetail "));
  EXPECT_EQ(shard.metadata.user.size(), 2u);
  EXPECT_EQ(shard.metadata.schema, "label:i64, image:u8[4]");
}

TEST_F(RecordWriterTest, RefusesAFirstRecordThatDoesNotFitTheSchema) {
  RecordWriter writer = RecordWriter::create(folder_ / "s.dvt", {.schema = parse_schema("label:i64").value()}).value();
  EXPECT_THAT(
      writer.append(R"({"label": 7})"),
      Fails(Errc::invalid_option).in(folder_ / "s.dvt").saying("schema = label:i64: record 0: the record is JSON"));
  EXPECT_EQ(writer.records(), 0u);
}

TEST_F(RecordWriterTest, RefusesASchemaThatContradictsItself) {
  EXPECT_THAT(RecordWriter::create(folder_ / "s.dvt", {.schema = Schema{{{.name = "a"}, {.name = "a"}}}}),
              Fails(Errc::invalid_option).saying("\"a\": occurs twice"));
}

TEST_F(RecordWriterTest, WritesTheSameBytesForTheSameOptionsAndRecords) {
  const Records records = sample_records(500, 3000, 8);
  write(records, {.dataset_id = id_}, "a.dvt");
  write(records, {.dataset_id = id_}, "b.dvt");
  write(records, {}, "c.dvt");
  EXPECT_EQ(read_file(folder_ / "a.dvt"), read_file(folder_ / "b.dvt"));
  EXPECT_NE(read_file(folder_ / "a.dvt"), read_file(folder_ / "c.dvt")) << "a random id is another one";
}

TEST_F(RecordWriterTest, WritesAnEmptyShard) {
  const ShardInfo info = write({}, {});
  EXPECT_EQ(info.records, 0u);
  EXPECT_EQ(info.blocks, 0u);
  EXPECT_EQ(info.run_records, 1u);
  EXPECT_THAT(read().records, IsEmpty());
}

TEST_F(RecordWriterTest, WritesEmptyRecords) {
  const ShardInfo info = write(Records(10), {});
  EXPECT_EQ(info.records, 10u);
  EXPECT_EQ(info.raw_bytes, 0u);
  EXPECT_EQ(read().records, Records(10));
}

TEST_F(RecordWriterTest, WritesARecordAboveEverySharedBlock) {
  const std::string huge(std::size_t{70} << 20, 'x');
  const ShardInfo info = write({"before", huge, "after"}, {});
  EXPECT_GT(huge.size(), format::kMaxSharedBlockBytes);
  EXPECT_EQ(info.max_record_bytes, huge.size());
  const DecodedShard shard = read();
  ASSERT_EQ(shard.records.size(), 3u);
  EXPECT_TRUE(shard.records[1] == huge) << "70 MiB differ";
  EXPECT_EQ(shard.records[2], "after");
}

TEST_F(RecordWriterTest, EndsABlockWithEveryRun) {
  write(sample_records(1000, 900, 9), {.block_bytes = 4096, .run_records = 13});
  const DecodedShard shard = read();
  EXPECT_EQ(shard.tail.footer.info.run_records, 13u);
  std::uint64_t records = 0;
  for (const format::BlockHeader& block : shard.blocks) {
    EXPECT_EQ(records / 13, (records + block.records - 1) / 13) << "a block crosses a run's end";
    records += block.records;
  }
}

TEST_F(RecordWriterTest, ChoosesARunOfAboutTheAskedBytes) {
  const ShardInfo info = write(Records(5000, std::string(100, 'x')), {.run_bytes = 25'600});
  EXPECT_EQ(info.run_records, 256u);
}

TEST_F(RecordWriterTest, RefusesARecordAboveItsLimitAndGoesOn) {
  RecordWriter writer = RecordWriter::create(folder_ / "s.dvt", {.max_record_bytes = 3}).value();
  ASSERT_TRUE(writer.append(as_bytes("abc")));
  const auto refused = writer.append(as_bytes("abcd"));
  ASSERT_THAT(refused, Fails(Errc::record_too_large).of(ErrorKind::usage).in(folder_ / "s.dvt"));
  EXPECT_EQ(refused.error().detail(), "record 1 has 4 bytes; the limit is max_record_bytes = 3");
  ASSERT_TRUE(writer.append(as_bytes("xyz")));
  EXPECT_EQ(writer.records(), 2u);
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(read().records, ElementsAre("abc", "xyz"));
}

TEST_F(RecordWriterTest, LeavesNoFinishedLookingFileWithoutFinish) {
  {
    RecordWriter writer = RecordWriter::create(folder_ / "s.dvt").value();
    ASSERT_TRUE(writer.append(as_bytes("abc")));
    EXPECT_THAT(names(), ElementsAre(StartsWith(".s.dvt.partial-")));
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(RecordWriterTest, AbandonsOnlyWhatIsUnfinished) {
  RecordWriter unfinished = RecordWriter::create(folder_ / "a.dvt").value();
  unfinished.abandon();
  EXPECT_THAT(unfinished.append(""), Fails(Errc::closed));
  EXPECT_THAT(unfinished.finish(), Fails(Errc::closed));

  RecordWriter finished = RecordWriter::create(folder_ / "b.dvt").value();
  ASSERT_TRUE(finished.finish());
  finished.abandon();
  EXPECT_THAT(names(), ElementsAre("b.dvt"));
}

TEST_F(RecordWriterTest, SaysThatItIsClosedAfterFinishAndAfterAMove) {
  RecordWriter writer = RecordWriter::create(folder_ / "s.dvt").value();
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(writer.append(as_bytes("a")), Fails(Errc::closed));
  EXPECT_THAT(writer.finish(), Fails(Errc::closed));
  const RecordWriter taken = std::move(writer);
  EXPECT_THAT(writer.append(as_bytes("a")), Fails(Errc::closed));
  EXPECT_THAT(writer.finish(), Fails(Errc::closed));
  EXPECT_EQ(writer.records(), 0u);
  writer.abandon();
}

TEST_F(RecordWriterTest, ReplacesAFinishedShardOnlyWhereAsked) {
  write({"old"}, {});
  EXPECT_THAT(RecordWriter::create(folder_ / "s.dvt"), Fails(Errc::already_exists).of(ErrorKind::usage));
  {
    RecordWriter unfinished = RecordWriter::create(folder_ / "s.dvt", {.overwrite = true}).value();
    ASSERT_TRUE(unfinished.append(as_bytes("new")));
    EXPECT_THAT(read().records, ElementsAre("old")) << "until the new one is whole";
  }
  EXPECT_THAT(read().records, ElementsAre("old"));
  write({"new"}, {.overwrite = true});
  EXPECT_THAT(read().records, ElementsAre("new"));
}

TEST_F(RecordWriterTest, LosesARaceForTheNameWithoutHarm) {
  RecordWriter late = RecordWriter::create(folder_ / "s.dvt").value();
  write({"first"}, {});
  EXPECT_THAT(late.finish(), Fails(Errc::already_exists));
  EXPECT_THAT(late.append(""), Fails(Errc::already_exists)) << "the first failure is final";
  EXPECT_THAT(read().records, ElementsAre("first"));
  EXPECT_THAT(names(), ElementsAre("s.dvt"));
}

TEST_F(RecordWriterTest, NamesTheFolderThatIsMissing) {
  EXPECT_THAT(RecordWriter::create(folder_ / "no/s.dvt"), Fails(ErrorKind::io).in(folder_ / "no/"));
}

TEST_F(RecordWriterTest, RefusesPathsThatNameNoFile) {
  EXPECT_THAT(RecordWriter::create(""), Fails(Errc::invalid_option));
  EXPECT_THAT(RecordWriter::create(folder_ / ""), Fails(Errc::invalid_option));
  EXPECT_THAT(RecordWriter::create(folder_.path(), {.overwrite = true}), Fails(boost::system::errc::is_a_directory));
}

TEST_F(RecordWriterTest, GivesFilesTheUsualPermissions) {
  const mode_t mask = ::umask(022);
  write({"a"}, {});
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "s.dvt").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

struct BadOption {
  const char* field;
  WriterOptions options;
};

class WriterOptionsTest : public ::testing::TestWithParam<BadOption> {};

TEST_P(WriterOptionsTest, RefusesWhatIsOutOfRangeByName) {
  const TempFolder folder;
  const auto refused = RecordWriter::create(folder / "s.dvt", GetParam().options);
  ASSERT_THAT(refused, Fails(Errc::invalid_option));
  EXPECT_THAT(refused.error().detail(), AllOf(StartsWith(GetParam().field), HasSubstr("must be")));
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Each, WriterOptionsTest,
                         ::testing::Values(BadOption{"block_bytes = 1023", {.block_bytes = 1023}},
                                           BadOption{"block_bytes = 67108865", {.block_bytes = (64u << 20) + 1}},
                                           BadOption{"run_bytes = 0", {.run_bytes = 0}},
                                           BadOption{"run_bytes = 1073741825", {.run_bytes = (1ull << 30) + 1}},
                                           BadOption{"run_records = 1099511627777", {.run_records = (1ull << 40) + 1}},
                                           BadOption{"shard_number = 4294967295", {.shard_number = 0xFFFFFFFF}},
                                           BadOption{"codec = 9", {.codec = static_cast<Codec>(9)}}),
                         [](const auto& tested) { return "Option" + std::to_string(tested.index); });

TEST_F(RecordWriterTest, RefusesMetadataAboveTheLimit) {
  EXPECT_THAT(
      RecordWriter::create(folder_ / "s.dvt", {.metadata = {{"k", std::string(format::kMaxMetadataBytes, 'v')}}}),
      Fails(Errc::invalid_option));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(RecordWriterTest, InAForkedChildIsClosedAndLeavesTheFileToTheParent) {
  const Records records = sample_records(3000, 600, 9);
  std::optional<RecordWriter> writer = RecordWriter::create(folder_ / "s.dvt").value();
  for (const std::string& record : records) writer->append(as_bytes(record)).value();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const Result<void> appended = writer->append(as_bytes(records[0]));
    const Result<ShardInfo> finished = writer->finish();
    bool told = !appended && appended.error().is(Errc::closed) && !finished && finished.error().is(Errc::closed);
    told = told && finished.error().detail().find("forked") != std::string::npos;
    writer->abandon();
    writer.reset();
    ::_exit(told ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  ASSERT_TRUE(writer->finish());
  EXPECT_TRUE(read().records == records);
  EXPECT_THAT(names(), ElementsAre("s.dvt"));
}

}  // namespace
}  // namespace dovetail::test
