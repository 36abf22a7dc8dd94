// SPDX-License-Identifier: Apache-2.0
#include <dovetail/recover.h>

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "format/crc32c/crc32c.h"
#include "format/messages.h"
#include "format/structures.h"
#include "tests/convert/recoveries.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/forked_child.h"
#include "tests/support/spawned.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kShards = 4;

std::vector<Records> records_by_shard() {
  std::vector<Records> shards;
  for (std::uint32_t i = 0; i < kShards; ++i) shards.push_back(sample_records(40 + 3 * i, 300, 100 + i));
  return shards;
}

Records joined(const std::vector<Records>& shards) {
  Records all;
  for (const Records& records : shards) all.insert(all.end(), records.begin(), records.end());
  return all;
}

/// A dataset of several small blocks and runs per shard.
DatasetInfo write_dataset(const std::string& folder, const std::vector<Records>& shards) {
  DatasetWriterOptions options{.shard = {.block_bytes = 1024,
                                         .run_records = 16,
                                         .record_type = "sample",
                                         .schema = parse_schema("label: i64\n").value(),
                                         .metadata = {{"wood", "oak"}},
                                         .check_schema = false}};
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  for (const Records& records : shards) {
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    writer.next_shard().value();
  }
  return writer.finish().value();
}

std::string shard_of(const std::string& folder, std::uint32_t shard) {
  return folder + "/shard-00000" + std::to_string(shard) + ".dvt";
}

void flip(const std::string& path, std::size_t offset) {
  Bytes bytes = read_file(path);
  bytes.at(offset) ^= std::byte{1};
  write_file(path, as_chars(bytes));
}

void expect_fails(Errc code, const std::string& source, const std::string& target, const RecoverOptions& options = {}) {
  const auto report = recover(source, target, options);
  ASSERT_THAT(report, Fails(code));
  EXPECT_FALSE(report.error().path().empty());
}

using RecoverDatasetTest = RecoverTest;
using RecoverTargetTest = RecoverTest;
using RecoverErrorTest = RecoverTest;
using RecoverLivingWriterTest = RecoverTest;

TEST_F(RecoverDatasetTest, AWholeDatasetLosesNothing) {
  const std::vector<Records> shards = records_by_shard();
  const DatasetInfo before = write_dataset(data_, shards);
  const RecoverReport report = recovered(data_, out_);
  EXPECT_THAT(report.lost, IsEmpty());
  EXPECT_EQ(report.expected_records, joined(shards).size());
  const DecodedDataset out = read_dataset(out_);
  EXPECT_NE(out.id, before.id);
  EXPECT_EQ(out.records, joined(shards));
  ASSERT_THAT(out.shards, SizeIs(kShards));
  for (std::uint32_t i = 0; i < kShards; ++i) {
    EXPECT_EQ(out.infos[i].fingerprint, before.shards[i].fingerprint);
    EXPECT_EQ(out.infos[i].run_records, 16u);
    EXPECT_EQ(out.shards[i].metadata.record_type, "sample");
    EXPECT_EQ(out.shards[i].metadata.user.at("wood"), "oak");
    EXPECT_FALSE(out.shards[i].metadata.schema.empty());
  }
}

TEST_F(RecoverDatasetTest, AMissingShardLeavesAnEmptyOneAndDamageCostsItsBlock) {
  std::vector<Records> shards = records_by_shard();
  write_dataset(data_, shards);
  fs::remove(shard_of(data_, 1));
  const ShardDescription damaged = describe_shard(shard_of(data_, 2)).value();
  const BlockInfo block = damaged.blocks.at(1);
  flip(shard_of(data_, 2), block.offset + format::kBlockHeaderBytes);

  const RecoverReport report = recovered(data_ + "/manifest.dvt", out_);
  ASSERT_THAT(report.lost, SizeIs(2));
  EXPECT_EQ(report.lost[0].file, shard_of(data_, 1));
  EXPECT_EQ(report.lost[0].end_record, shards[1].size());
  EXPECT_EQ(report.lost[1].file, shard_of(data_, 2));
  EXPECT_EQ(report.lost[1].offset, block.offset);
  EXPECT_EQ(report.lost[1].first_record, block.first_record);
  EXPECT_EQ(report.lost[1].end_record, block.first_record + block.records);
  EXPECT_THAT(report.lost[1].reason, HasSubstr("checksum"));
  EXPECT_EQ(report.expected_records, joined(shards).size());

  shards[1].clear();
  const auto first = shards[2].begin() + static_cast<std::ptrdiff_t>(block.first_record);
  shards[2].erase(first, first + block.records);
  EXPECT_EQ(report.records, joined(shards).size());
  const DecodedDataset out = read_dataset(out_);
  ASSERT_THAT(out.shards, SizeIs(kShards));
  for (std::uint32_t i = 0; i < kShards; ++i) EXPECT_EQ(out.shards[i].records, shards[i]);
}

TEST_F(RecoverDatasetTest, AManifestTellsWhatACutShardHad) {
  const std::vector<Records> shards = records_by_shard();
  write_dataset(data_, shards);
  const ShardDescription whole = describe_shard(shard_of(data_, 3)).value();
  fs::resize_file(shard_of(data_, 3), whole.blocks.at(1).offset);
  const RecoverReport report = recovered(data_, out_);
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].first_record, whole.blocks[1].first_record);
  EXPECT_EQ(report.lost[0].end_record, shards[3].size());
  EXPECT_EQ(report.expected_records, joined(shards).size());
}

TEST_F(RecoverDatasetTest, AShardOfAnotherDatasetIsNotTaken) {
  std::vector<Records> shards = records_by_shard();
  write_dataset(data_, shards);
  write_dataset(folder_ / "other", shards);
  fs::copy_file(shard_of(folder_ / "other", 0), shard_of(data_, 0), fs::copy_options::overwrite_existing);
  const RecoverReport report = recovered(data_, out_);
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].file, shard_of(data_, 0));
  EXPECT_EQ(report.lost[0].end_record, shards[0].size());
  shards[0].clear();
  EXPECT_EQ(saved(), joined(shards));
}

TEST_F(RecoverDatasetTest, WithoutAManifestTheNumbersInTheFilesGiveTheOrder) {
  const std::vector<Records> shards = records_by_shard();
  write_dataset(data_, shards);
  fs::remove(data_ + "/manifest.dvt");
  fs::rename(shard_of(data_, 0), data_ + "/zoo.dvt");
  const Bytes third = read_file(shard_of(data_, 3));
  // A shorter and a longer rest of shard 3, and one of shard 0, which is finished.
  write_file(data_ + "/.shard-000003.dvt.partial-1-a", as_chars(third).substr(0, third.size() / 3));
  write_file(data_ + "/.shard-000003.dvt.partial-2-b", as_chars(third).substr(0, third.size() * 2 / 3));
  fs::copy_file(data_ + "/zoo.dvt", data_ + "/.shard-000000.dvt.partial-3-c");
  write_file(data_ + "/.manifest.dvt.partial-4-d", "");
  fs::remove(shard_of(data_, 3));
  fs::remove(shard_of(data_, 2));

  const RecoverReport report = recovered(data_, out_);
  EXPECT_THAT(report.passed_over,
              ElementsAre(data_ + "/.shard-000000.dvt.partial-3-c", data_ + "/.shard-000003.dvt.partial-1-a"));
  EXPECT_FALSE(report.expected_records);
  ASSERT_GE(report.lost.size(), 3u);
  EXPECT_EQ(report.lost[0].file, data_ + "/manifest.dvt");
  EXPECT_THAT(report.lost[1].reason, HasSubstr("shard 2 is missing"));
  EXPECT_EQ(report.lost[2].file, data_ + "/.shard-000003.dvt.partial-2-b");
  const DecodedDataset out = read_dataset(out_);
  ASSERT_THAT(out.shards, SizeIs(3));
  EXPECT_EQ(out.shards[0].records, shards[0]);
  EXPECT_EQ(out.shards[1].records, shards[1]);
  const Records& part = out.shards[2].records;
  ASSERT_LT(part.size(), shards[3].size());
  EXPECT_GT(part.size(), shards[3].size() / 3);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), shards[3].begin()));
  EXPECT_EQ(out.shards[0].metadata.user.at("wood"), "oak");
}

TEST_F(RecoverDatasetTest, ADamagedManifestIsToldAndReplaced) {
  const std::vector<Records> shards = records_by_shard();
  write_dataset(data_, shards);
  flip(data_ + "/manifest.dvt", fs::file_size(data_ + "/manifest.dvt") / 2);
  const RecoverReport report = recovered(data_ + "/manifest.dvt", out_);
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].file, data_ + "/manifest.dvt");
  EXPECT_EQ(saved(), joined(shards));
}

TEST_F(RecoverDatasetTest, WhenEveryEndIsDamagedTheBlocksSayWhatTheDatasetIs) {
  const std::vector<Records> shards = records_by_shard();
  write_dataset(data_, shards);
  for (std::uint32_t i = 0; i < kShards; ++i) flip(shard_of(data_, i), fs::file_size(shard_of(data_, i)) - 1);
  fs::remove(data_ + "/manifest.dvt");
  const RecoverReport report = recovered(data_, out_);
  EXPECT_THAT(report.lost, SizeIs(1 + kShards));
  const DecodedDataset out = read_dataset(out_);
  EXPECT_EQ(out.records, joined(shards));
  EXPECT_EQ(out.shards[0].metadata.record_type, "sample");
  EXPECT_EQ(out.infos[0].run_records, 16u);
  EXPECT_EQ(out.shards[0].blocks[0].codec, Codec::snappy);
}

TEST_F(RecoverDatasetTest, AManifestLeadsOutsideOnlyWhereThatIsAllowed) {
  const DatasetInfo before = write_dataset(folder_ / "shards", {records_by_shard()[0]});
  ShardInfo info = before.shards[0];
  info.name = "../shards/" + info.name;
  ShardSpec spec{.records = {format::encode(info)},
                 .shard_number = format::kManifestShardNumber,
                 .metadata = {format::kManifestRecordType, "sample", {}}};
  // Its dataset id is that of the samples, so the shard gets it, too.
  RecoverOptions to_sample_id{.overwrite = true, .dataset_id = sample_dataset_id()};
  recovered(folder_ / "shards", folder_ / "again", to_sample_id);
  ShardInfo moved = describe_shard(shard_of(folder_ / "again", 0)).value().info;
  moved.name = "../again/shard-000000.dvt";
  spec.records = {format::encode(moved)};
  fs::create_directory(data_);
  write_file(data_ + "/manifest.dvt", as_chars(make_shard(spec).bytes));

  expect_fails(Errc::outside_dataset, data_, out_);
  EXPECT_FALSE(fs::exists(out_));
  const RecoverReport report = recovered(data_, out_, {.allow_outside = true});
  EXPECT_EQ(report.records, records_by_shard()[0].size());
  EXPECT_THAT(report.lost, IsEmpty());
  expect_fails(Errc::invalid_option, data_, folder_ / "again", {.overwrite = true, .allow_outside = true});
}

TEST_F(RecoverTargetTest, TheSourceIsNeverReplaced) {
  write_dataset(data_, records_by_shard());
  const std::string shard = shard_of(data_, 0);
  const Bytes before = read_file(shard);
  fs::create_hard_link(shard, folder_ / "link.dvt");
  const RecoverOptions overwrite{.overwrite = true};
  expect_fails(Errc::invalid_option, shard, shard, overwrite);
  expect_fails(Errc::invalid_option, shard, folder_ / "link.dvt", overwrite);
  expect_fails(Errc::invalid_option, data_, data_ + "/.", overwrite);
  expect_fails(Errc::invalid_option, data_ + "/manifest.dvt", data_, overwrite);
  EXPECT_EQ(read_file(shard), before);
}

TEST_F(RecoverTargetTest, WhatIsThereIsReplacedOnlyIfAsked) {
  const DatasetInfo data = write_dataset(data_, records_by_shard());
  write_dataset(out_, {records_by_shard()[1]});
  expect_fails(Errc::already_exists, data_, out_);
  EXPECT_EQ(saved(), records_by_shard()[1]);
  const RecoverOptions options{.overwrite = true, .dataset_id = data.id};
  EXPECT_EQ(recovered(data_, out_, options).dataset_id, data.id);
  EXPECT_EQ(saved(), joined(records_by_shard()));

  write_file(folder_ / "s.dvt", "old");
  expect_fails(Errc::already_exists, shard_of(data_, 1), folder_ / "s.dvt");
  const RecoverReport report = recovered(shard_of(data_, 1), folder_ / "s.dvt", {.overwrite = true});
  EXPECT_EQ(read_shard_file(folder_ / "s.dvt").records, records_by_shard()[1]);
  EXPECT_EQ(report.shards.at(0).file_id & 0xFFFFFFFFu, 1u);
}

TEST_F(RecoverErrorTest, WhatIsNoShardIsRefusedAndNothingIsLeft) {
  write_file(folder_ / "noise", test::noise(10'000, 5));
  write_file(folder_ / "empty", "");
  fs::create_directory(folder_ / "nothing");
  expect_fails(Errc::foreign_file, folder_ / "noise", out_);
  EXPECT_THAT(recover(folder_ / "noise", out_), Fails().saying("convert --on-error skip"));
  expect_fails(Errc::foreign_file, folder_ / "empty", out_);
  expect_fails(Errc::empty_input, folder_ / "nothing", out_);
  write_file(folder_ / "nothing/a.dvt", test::noise(10'000, 6));
  expect_fails(Errc::not_dovetail, folder_ / "nothing", out_);
  expect_fails(Errc::not_dovetail, folder_ / "nothing/a.dvt", out_);
  EXPECT_THAT(recover(folder_ / "missing", out_), Fails(ErrorKind::io));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(RecoverErrorTest, ALaterVersionAndAnIndexOfTfrecordsAreNamed) {
  Bytes later = make_shard({.records = {"a"}}).bytes;
  format::FileHeader header{.major = 2, .shard_number = 3, .dataset_id = sample_dataset_id()};
  format::encode(header, std::span<std::byte>(later).first<format::kFileHeaderBytes>());
  write_file(folder_ / "later.dvt", as_chars(later));
  expect_fails(Errc::unsupported_version, folder_ / "later.dvt", out_);

  Bytes index = make_shard({.records = {"a"}, .shard_number = format::kTfrecordIndexShardNumber}).bytes;
  write_file(folder_ / "a.dvi", as_chars(index));
  expect_fails(Errc::unknown_format, folder_ / "a.dvi", out_);

  // Neither file header nor first block nor trailer: that it is a manifest shows only in what is
  // found.
  Bytes manifest = make_shard({.records = {"a"}, .shard_number = format::kManifestShardNumber}).bytes;
  std::fill_n(manifest.begin(), 128, std::byte{0});
  std::fill_n(manifest.end() - 64, 64, std::byte{0});
  write_file(folder_ / "copy.dvt", as_chars(manifest));
  expect_fails(Errc::unknown_format, folder_ / "copy.dvt", out_);
}

TEST_F(RecoverErrorTest, WhatSaysThatItsRecordsAreAManifestIsMadeNone) {
  for (const char* type : {format::kManifestRecordType, format::kTfrecordIndexRecordType}) {
    const Bytes shard = make_shard({.records = {"a", "b"}, .metadata = {type, "sample", {}}}).bytes;
    const std::string data = folder_ / type;
    fs::create_directory(data);
    write_file(data + "/s.dvt", as_chars(shard));
    expect_fails(Errc::unknown_format, data + "/s.dvt", out_);
    const RecoverReport report = recovered(data, data + "-out");
    EXPECT_EQ(report.records, 2u);
    EXPECT_TRUE(verify(data + "-out").value().ok());
    EXPECT_TRUE(verify(shard_of(data + "-out", 0)).value().ok());
  }
}

TEST_F(RecoverErrorTest, ATargetThatCannotBeWrittenIsTheSystemsError) {
  write_dataset(data_, records_by_shard());
  EXPECT_THAT(recover(shard_of(data_, 0), folder_ / "missing/out.dvt"), Fails(ErrorKind::io));
}

TEST_F(RecoverErrorTest, ATargetThatCannotBeIsToldBeforeAnyWork) {
  write_dataset(data_, records_by_shard());
  fs::create_directory(folder_ / "folder");
  for (const char* target : {"missing/out.dvt", "folder", "data/shard-000001.dvt/out.dvt"}) {
    SCOPED_TRACE(target);
    int calls = 0;
    RecoverOptions options{.overwrite = true};
    options.progress = [&](std::uint64_t, std::uint64_t) { return ++calls > 0; };
    EXPECT_THAT(recover(shard_of(data_, 0), folder_ / target, options), Fails(ErrorKind::io));
    EXPECT_EQ(calls, 0);
  }
}

TEST_F(RecoverErrorTest, ACancelledRecoveryLeavesNothing) {
  write_dataset(data_, records_by_shard());
  for (int calls = 1; calls < 12; ++calls) {
    int left = calls;
    const RecoverOptions options{.progress = [&](std::uint64_t, std::uint64_t) { return --left > 0; }};
    for (const auto& source : {data_, shard_of(data_, 0)}) {
      left = calls;
      const auto report = recover(source, out_, options);
      if (left > 0) {
        fs::remove_all(out_);
        continue;
      }
      EXPECT_THAT(report, Fails(ErrorKind::cancelled));
      EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
    }
  }
}

TEST(RecoverLargeTest, BlocksBeyondAnyBufferAreFoundAndLostAlone) {
  const TempFolder folder;
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Records records = {"before"};
  // Around the size of what is read at once, and far above.
  for (const std::size_t size : {kMiB - 128, kMiB - 64, kMiB - 63, kMiB, kMiB + 1, 3 * kMiB + 7}) {
    records.push_back(test::noise(size, size));
    records.push_back("behind " + std::to_string(size));
  }
  WriterOptions options{.run_records = 1};
  RecordWriter writer = RecordWriter::create(folder / "s.dvt", options).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  writer.finish().value();
  const std::vector<BlockInfo> blocks = describe_shard(folder / "s.dvt").value().blocks;
  ASSERT_EQ(blocks.size(), records.size());
  const Bytes good = read_file(folder / "s.dvt");
  const RecoverReport whole = recovered(folder / "s.dvt", folder / "out.dvt");
  EXPECT_THAT(whole.lost, IsEmpty());
  EXPECT_LE(whole.checked_bytes, 3 * whole.source_bytes);
  EXPECT_EQ(read_shard_file(folder / "out.dvt").records, records);

  for (std::size_t lost = 1; lost < records.size(); lost += 2) {
    SCOPED_TRACE(records[lost].size());
    const auto middle =
        static_cast<std::ptrdiff_t>(blocks[lost].offset + (records[lost].size() / 2 & ~std::size_t{63}));
    Bytes flipped = good;
    *(flipped.begin() + middle) ^= std::byte{4};
    Bytes shorter = good;
    shorter.erase(shorter.begin() + middle, shorter.begin() + middle + 64);
    Records wanted = records;
    wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(lost));
    for (const Bytes& damaged : {flipped, shorter}) {
      write_file(folder / "s.dvt", as_chars(damaged));
      const RecoverReport report = recovered(folder / "s.dvt", folder / "out.dvt", {.overwrite = true});
      EXPECT_TRUE(read_shard_file(folder / "out.dvt").records == wanted);
      ASSERT_THAT(report.lost, SizeIs(1));
      EXPECT_EQ(report.lost[0].offset, blocks[lost].offset);
      EXPECT_EQ(report.lost[0].first_record, lost);
      EXPECT_EQ(report.lost[0].end_record, lost + 1);
    }
  }
}

TEST_F(RecoverLivingWriterTest, WhatAWriterIsStillWritingIsRefused) {
  const auto expect_refused = [&](const std::string& source) {
    const auto report = recover(source, out_);
    ASSERT_THAT(report, Fails(Errc::unfinished).saying("is writing"));
    EXPECT_THAT(report.error().path(), HasSubstr(".partial-"));
    EXPECT_FALSE(fs::exists(out_));
  };
  fs::create_directory(data_);
  std::optional<RecordWriter> shard = RecordWriter::create(data_ + "/s.dvt").value();
  const std::string partial = data_ + "/" + names_in(data_).front();
  for (int i = 0; i < 300; ++i) shard->append(as_bytes(test::noise(10'000, 1))).value();
  const Bytes begun = read_file(partial);
  expect_refused(partial);
  expect_refused(data_);
  ASSERT_TRUE(shard->finish());
  EXPECT_TRUE(recovered(data_ + "/s.dvt", folder_ / "whole").ok());

  // A copy is nobody's, like what a writer leaves that is gone.
  write_file(data_ + "/.t.dvt.partial-1-a", as_chars(begun).substr(0, 1 << 20));
  EXPECT_GT(recovered(data_ + "/.t.dvt.partial-1-a", folder_ / "again").records, 10u);

  DatasetWriter dataset = DatasetWriter::create(folder_ / "many").value();
  for (int i = 0; i < 300; ++i) dataset.append(as_bytes(test::noise(10'000, 2))).value();
  for (const char* source : {"many.partial", "many.partial/split"}) {
    fs::create_directory(folder_ / "many.partial/split");
    EXPECT_THAT(recover(folder_ / source, out_), Fails(Errc::unfinished).saying("a writer is running here"));
  }
  dataset.abandon();
}

TEST_F(RecoverLivingWriterTest, AFinishedFileIsNobodysAlthoughAForkOfItsWriterLives) {
  RecordWriter writer = RecordWriter::create(folder_ / "s.dvt").value();
  ASSERT_TRUE(writer.append(as_bytes("record")));
  const ForkedChild child;
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(recovered(folder_ / "s.dvt", folder_ / "again").records, 1u);
}

TEST(RecoverKilledWriterTest, WhatAKilledWriterLeavesIsSavedUpToItsLastBlock) {
  const TempFolder folder;
  for (const std::string kind : {"shard", "dataset"}) {
    SCOPED_TRACE(kind);
    const std::string place = kind == "shard" ? folder / "shard" : folder / "dataset.partial";
    if (kind == "shard") fs::create_directory(place);
    const std::string target = kind == "shard" ? folder / "shard/s.dvt" : folder / "dataset";
    const pid_t child = spawn(DOVETAIL_ENDLESS_WRITER, {kind, target});
    ASSERT_GT(child, 0);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::uintmax_t bytes = 0;
    while (bytes < (3 << 20) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      bytes = 0;
      std::error_code gone;
      for (const auto& entry : fs::directory_iterator(place, gone)) bytes += entry.file_size(gone);
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::vector<std::string> left = names_in(place);
    ASSERT_FALSE(left.empty());
    EXPECT_FALSE(fs::exists(target));
    const std::string source = kind == "shard" ? folder / ("shard/" + left.front()) : place;
    const RecoverReport report = recovered(source, folder / ("out-" + kind));
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(report.expected_records);
    EXPECT_GT(report.records, 100u);
    const Records records =
        kind == "shard" ? read_shard_file(folder / "out-shard").records : read_dataset(folder / "out-dataset").records;
    const std::string record(10'000, 'x');
    EXPECT_TRUE(std::all_of(records.begin(), records.end(), [&](const std::string& r) { return r == record; }));
  }
}

}  // namespace
}  // namespace dovetail::test
