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

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "format/crc32c/crc32c.h"
#include "format/messages.h"
#include "format/structures.h"
#include "tests/convert/recoveries.h"
#include "tests/support/forked_child.h"
#include "tests/support/spawned.h"
#include "tests/writer/test_files.h"

namespace dovetail {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::Records;
using test::recovered;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::uint32_t kShards = 4;

std::vector<Records> records_by_shard() {
  std::vector<Records> shards;
  for (std::uint32_t i = 0; i < kShards; ++i) shards.push_back(test::sample_records(40 + 3 * i, 300, 100 + i));
  return shards;
}

Records joined(const std::vector<Records>& shards) {
  Records all;
  for (const Records& records : shards) all.insert(all.end(), records.begin(), records.end());
  return all;
}

/// A dataset of several small blocks and runs per shard.
DatasetInfo write_dataset(const std::string& folder, const std::vector<Records>& shards) {
  DatasetWriterOptions options;
  options.shard.record_type = "sample";
  options.shard.metadata = {{"wood", "oak"}};
  options.shard.schema = parse_schema("label: i64\n").value();
  options.shard.block_bytes = 1024;
  options.shard.run_records = 16;
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
  Bytes bytes = test::read_file(path);
  bytes.at(offset) ^= std::byte{1};
  test::write_file(path, as_chars(bytes));
}

void expect_fails(Errc code, const std::string& source, const std::string& target, const RecoverOptions& options = {}) {
  const auto report = recover(source, target, options);
  ASSERT_FALSE(report);
  EXPECT_TRUE(report.error().is(code)) << report.error().to_string();
  EXPECT_FALSE(report.error().path().empty());
}

TEST(RecoverDatasetTest, AWholeDatasetLosesNothing) {
  const TempFolder folder;
  const std::vector<Records> shards = records_by_shard();
  const DatasetInfo before = write_dataset(folder / "data", shards);
  const RecoverReport report = recovered(folder / "data", folder / "out");
  EXPECT_THAT(report.lost, IsEmpty());
  EXPECT_EQ(report.expected_records, joined(shards).size());
  const test::DecodedDataset out = test::read_dataset(folder / "out");
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

TEST(RecoverDatasetTest, AMissingShardLeavesAnEmptyOneAndDamageCostsItsBlock) {
  const TempFolder folder;
  std::vector<Records> shards = records_by_shard();
  write_dataset(folder / "data", shards);
  fs::remove(shard_of(folder / "data", 1));
  const ShardDescription damaged = describe_shard(shard_of(folder / "data", 2)).value();
  const BlockInfo block = damaged.blocks.at(1);
  flip(shard_of(folder / "data", 2), block.offset + format::kBlockHeaderBytes);

  const RecoverReport report = recovered(folder / "data/manifest.dvt", folder / "out");
  ASSERT_THAT(report.lost, SizeIs(2));
  EXPECT_EQ(report.lost[0].file, shard_of(folder / "data", 1));
  EXPECT_EQ(report.lost[0].end_record, shards[1].size());
  EXPECT_EQ(report.lost[1].file, shard_of(folder / "data", 2));
  EXPECT_EQ(report.lost[1].offset, block.offset);
  EXPECT_EQ(report.lost[1].first_record, block.first_record);
  EXPECT_EQ(report.lost[1].end_record, block.first_record + block.records);
  EXPECT_THAT(report.lost[1].reason, HasSubstr("checksum"));
  EXPECT_EQ(report.expected_records, joined(shards).size());

  shards[1].clear();
  const auto first = shards[2].begin() + static_cast<std::ptrdiff_t>(block.first_record);
  shards[2].erase(first, first + block.records);
  EXPECT_EQ(report.records, joined(shards).size());
  const test::DecodedDataset out = test::read_dataset(folder / "out");
  ASSERT_THAT(out.shards, SizeIs(kShards));
  for (std::uint32_t i = 0; i < kShards; ++i) EXPECT_EQ(out.shards[i].records, shards[i]);
}

TEST(RecoverDatasetTest, AManifestTellsWhatACutShardHad) {
  const TempFolder folder;
  const std::vector<Records> shards = records_by_shard();
  write_dataset(folder / "data", shards);
  const ShardDescription whole = describe_shard(shard_of(folder / "data", 3)).value();
  fs::resize_file(shard_of(folder / "data", 3), whole.blocks.at(1).offset);
  const RecoverReport report = recovered(folder / "data", folder / "out");
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].first_record, whole.blocks[1].first_record);
  EXPECT_EQ(report.lost[0].end_record, shards[3].size());
  EXPECT_EQ(report.expected_records, joined(shards).size());
}

TEST(RecoverDatasetTest, AShardOfAnotherDatasetIsNotTaken) {
  const TempFolder folder;
  std::vector<Records> shards = records_by_shard();
  write_dataset(folder / "data", shards);
  write_dataset(folder / "other", shards);
  fs::copy_file(shard_of(folder / "other", 0), shard_of(folder / "data", 0), fs::copy_options::overwrite_existing);
  const RecoverReport report = recovered(folder / "data", folder / "out");
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].file, shard_of(folder / "data", 0));
  EXPECT_EQ(report.lost[0].end_record, shards[0].size());
  shards[0].clear();
  EXPECT_EQ(test::read_dataset(folder / "out").records, joined(shards));
}

TEST(RecoverDatasetTest, WithoutAManifestTheNumbersInTheFilesGiveTheOrder) {
  const TempFolder folder;
  const std::vector<Records> shards = records_by_shard();
  write_dataset(folder / "data", shards);
  fs::remove(folder / "data/manifest.dvt");
  const std::string data = folder / "data";
  fs::rename(shard_of(data, 0), data + "/zoo.dvt");
  const Bytes third = test::read_file(shard_of(data, 3));
  // A shorter and a longer rest of shard 3, and one of shard 0, which is finished.
  test::write_file(data + "/.shard-000003.dvt.partial-1-a", as_chars(third).substr(0, third.size() / 3));
  test::write_file(data + "/.shard-000003.dvt.partial-2-b", as_chars(third).substr(0, third.size() * 2 / 3));
  fs::copy_file(data + "/zoo.dvt", data + "/.shard-000000.dvt.partial-3-c");
  test::write_file(data + "/.manifest.dvt.partial-4-d", "");
  fs::remove(shard_of(data, 3));
  fs::remove(shard_of(data, 2));

  const RecoverReport report = recovered(data, folder / "out");
  EXPECT_THAT(report.passed_over,
              ElementsAre(data + "/.shard-000000.dvt.partial-3-c", data + "/.shard-000003.dvt.partial-1-a"));
  EXPECT_FALSE(report.expected_records);
  ASSERT_GE(report.lost.size(), 3u);
  EXPECT_EQ(report.lost[0].file, data + "/manifest.dvt");
  EXPECT_THAT(report.lost[1].reason, HasSubstr("shard 2 is missing"));
  EXPECT_EQ(report.lost[2].file, data + "/.shard-000003.dvt.partial-2-b");
  const test::DecodedDataset out = test::read_dataset(folder / "out");
  ASSERT_THAT(out.shards, SizeIs(3));
  EXPECT_EQ(out.shards[0].records, shards[0]);
  EXPECT_EQ(out.shards[1].records, shards[1]);
  const Records& part = out.shards[2].records;
  ASSERT_LT(part.size(), shards[3].size());
  EXPECT_GT(part.size(), shards[3].size() / 3);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), shards[3].begin()));
  EXPECT_EQ(out.shards[0].metadata.user.at("wood"), "oak");
}

TEST(RecoverDatasetTest, ADamagedManifestIsToldAndReplaced) {
  const TempFolder folder;
  const std::vector<Records> shards = records_by_shard();
  write_dataset(folder / "data", shards);
  flip(folder / "data/manifest.dvt", fs::file_size(folder / "data/manifest.dvt") / 2);
  const RecoverReport report = recovered(folder / "data/manifest.dvt", folder / "out");
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].file, folder / "data/manifest.dvt");
  EXPECT_EQ(test::read_dataset(folder / "out").records, joined(shards));
}

TEST(RecoverDatasetTest, WhenEveryEndIsDamagedTheBlocksSayWhatTheDatasetIs) {
  const TempFolder folder;
  const std::vector<Records> shards = records_by_shard();
  write_dataset(folder / "data", shards);
  for (std::uint32_t i = 0; i < kShards; ++i)
    flip(shard_of(folder / "data", i), fs::file_size(shard_of(folder / "data", i)) - 1);
  fs::remove(folder / "data/manifest.dvt");
  const RecoverReport report = recovered(folder / "data", folder / "out");
  EXPECT_THAT(report.lost, SizeIs(1 + kShards));
  const test::DecodedDataset out = test::read_dataset(folder / "out");
  EXPECT_EQ(out.records, joined(shards));
  EXPECT_EQ(out.shards[0].metadata.record_type, "sample");
  EXPECT_EQ(out.infos[0].run_records, 16u);
  EXPECT_EQ(out.shards[0].blocks[0].codec, Codec::snappy);
}

TEST(RecoverDatasetTest, AManifestLeadsOutsideOnlyWhereThatIsAllowed) {
  const TempFolder folder;
  const DatasetInfo before = write_dataset(folder / "shards", {records_by_shard()[0]});
  ShardInfo info = before.shards[0];
  info.name = "../shards/" + info.name;
  format::test::ShardSpec spec;
  spec.metadata = {format::kManifestRecordType, "sample", {}};
  spec.records = {format::encode(info)};
  spec.shard_number = format::kManifestShardNumber;
  // Its dataset id is that of the samples, so the shard gets it, too.
  RecoverOptions to_sample_id{.overwrite = true, .dataset_id = format::test::sample_dataset_id()};
  recovered(folder / "shards", folder / "again", to_sample_id);
  ShardInfo moved = describe_shard(shard_of(folder / "again", 0)).value().info;
  moved.name = "../again/shard-000000.dvt";
  spec.records = {format::encode(moved)};
  fs::create_directory(folder / "data");
  test::write_file(folder / "data/manifest.dvt", as_chars(format::test::make_shard(spec).bytes));

  expect_fails(Errc::outside_dataset, folder / "data", folder / "out");
  EXPECT_FALSE(fs::exists(folder / "out"));
  const RecoverReport report = recovered(folder / "data", folder / "out", {.allow_outside = true});
  EXPECT_EQ(report.records, records_by_shard()[0].size());
  EXPECT_THAT(report.lost, IsEmpty());
  expect_fails(Errc::invalid_option, folder / "data", folder / "again", {.overwrite = true, .allow_outside = true});
}

TEST(RecoverTargetTest, TheSourceIsNeverReplaced) {
  const TempFolder folder;
  write_dataset(folder / "data", records_by_shard());
  const std::string shard = shard_of(folder / "data", 0);
  const Bytes before = test::read_file(shard);
  fs::create_hard_link(shard, folder / "link.dvt");
  const RecoverOptions overwrite{.overwrite = true};
  expect_fails(Errc::invalid_option, shard, shard, overwrite);
  expect_fails(Errc::invalid_option, shard, folder / "link.dvt", overwrite);
  expect_fails(Errc::invalid_option, folder / "data", folder / "data/.", overwrite);
  expect_fails(Errc::invalid_option, folder / "data/manifest.dvt", folder / "data", overwrite);
  EXPECT_EQ(test::read_file(shard), before);
}

TEST(RecoverTargetTest, WhatIsThereIsReplacedOnlyIfAsked) {
  const TempFolder folder;
  const DatasetInfo data = write_dataset(folder / "data", records_by_shard());
  write_dataset(folder / "out", {records_by_shard()[1]});
  expect_fails(Errc::already_exists, folder / "data", folder / "out");
  EXPECT_EQ(test::read_dataset(folder / "out").records, records_by_shard()[1]);
  const RecoverOptions options{.overwrite = true, .dataset_id = data.id};
  EXPECT_EQ(recovered(folder / "data", folder / "out", options).dataset_id, data.id);
  EXPECT_EQ(test::read_dataset(folder / "out").records, joined(records_by_shard()));

  test::write_file(folder / "s.dvt", "old");
  expect_fails(Errc::already_exists, shard_of(folder / "data", 1), folder / "s.dvt");
  const RecoverReport report = recovered(shard_of(folder / "data", 1), folder / "s.dvt", {.overwrite = true});
  EXPECT_EQ(test::read_shard_file(folder / "s.dvt").records, records_by_shard()[1]);
  EXPECT_EQ(report.shards.at(0).file_id & 0xFFFFFFFFu, 1u);
}

TEST(RecoverErrorTest, WhatIsNoShardIsRefusedAndNothingIsLeft) {
  const TempFolder folder;
  test::write_file(folder / "noise", test::noise(10'000, 5));
  test::write_file(folder / "empty", "");
  fs::create_directory(folder / "nothing");
  expect_fails(Errc::foreign_file, folder / "noise", folder / "out");
  EXPECT_THAT(recover(folder / "noise", folder / "out").error().detail(), HasSubstr("convert --on-error skip"));
  expect_fails(Errc::foreign_file, folder / "empty", folder / "out");
  expect_fails(Errc::empty_input, folder / "nothing", folder / "out");
  test::write_file(folder / "nothing/a.dvt", test::noise(10'000, 6));
  expect_fails(Errc::not_dovetail, folder / "nothing", folder / "out");
  expect_fails(Errc::not_dovetail, folder / "nothing/a.dvt", folder / "out");
  const auto missing = recover(folder / "missing", folder / "out");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::io);
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(RecoverErrorTest, ALaterVersionAndAnIndexOfTfrecordsAreNamed) {
  const TempFolder folder;
  Bytes later = format::test::make_shard({.records = {"a"}}).bytes;
  format::FileHeader header{.major = 2, .shard_number = 3, .dataset_id = format::test::sample_dataset_id()};
  format::encode(header, std::span<std::byte>(later).first<format::kFileHeaderBytes>());
  test::write_file(folder / "later.dvt", as_chars(later));
  expect_fails(Errc::unsupported_version, folder / "later.dvt", folder / "out");

  Bytes index = format::test::make_shard({.records = {"a"}, .shard_number = format::kTfrecordIndexShardNumber}).bytes;
  test::write_file(folder / "a.dvi", as_chars(index));
  expect_fails(Errc::unknown_format, folder / "a.dvi", folder / "out");

  // Neither file header nor first block nor trailer: that it is a manifest shows only in what is found.
  Bytes manifest = format::test::make_shard({.records = {"a"}, .shard_number = format::kManifestShardNumber}).bytes;
  std::fill_n(manifest.begin(), 128, std::byte{0});
  std::fill_n(manifest.end() - 64, 64, std::byte{0});
  test::write_file(folder / "copy.dvt", as_chars(manifest));
  expect_fails(Errc::unknown_format, folder / "copy.dvt", folder / "out");
}

TEST(RecoverErrorTest, WhatSaysThatItsRecordsAreAManifestIsMadeNone) {
  const TempFolder folder;
  for (const char* type : {format::kManifestRecordType, format::kTfrecordIndexRecordType}) {
    const Bytes shard = format::test::make_shard({.records = {"a", "b"}, .metadata = {type, "sample", {}}}).bytes;
    const std::string data = folder / type;
    fs::create_directory(data);
    test::write_file(data + "/s.dvt", as_chars(shard));
    expect_fails(Errc::unknown_format, data + "/s.dvt", folder / "out");
    const RecoverReport report = recovered(data, data + "-out");
    EXPECT_EQ(report.records, 2u);
    EXPECT_TRUE(verify(data + "-out").value().ok());
    EXPECT_TRUE(verify(shard_of(data + "-out", 0)).value().ok());
  }
}

TEST(RecoverErrorTest, ATargetThatCannotBeWrittenIsTheSystemsError) {
  const TempFolder folder;
  write_dataset(folder / "data", records_by_shard());
  const auto report = recover(shard_of(folder / "data", 0), folder / "missing/out.dvt");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind(), ErrorKind::io);
}

TEST(RecoverErrorTest, ATargetThatCannotBeIsToldBeforeAnyWork) {
  const TempFolder folder;
  write_dataset(folder / "data", records_by_shard());
  fs::create_directory(folder / "folder");
  for (const char* target : {"missing/out.dvt", "folder", "data/shard-000001.dvt/out.dvt"}) {
    SCOPED_TRACE(target);
    int calls = 0;
    RecoverOptions options{.overwrite = true};
    options.progress = [&](std::uint64_t, std::uint64_t) { return ++calls > 0; };
    const auto report = recover(shard_of(folder / "data", 0), folder / target, options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), ErrorKind::io);
    EXPECT_EQ(calls, 0);
  }
}

TEST(RecoverErrorTest, ACancelledRecoveryLeavesNothing) {
  const TempFolder folder;
  write_dataset(folder / "data", records_by_shard());
  for (int calls = 1; calls < 12; ++calls) {
    int left = calls;
    const RecoverOptions options{.progress = [&](std::uint64_t, std::uint64_t) { return --left > 0; }};
    for (const auto& source : {folder / "data", shard_of(folder / "data", 0)}) {
      left = calls;
      const auto report = recover(source, folder / "out", options);
      if (left > 0) {
        fs::remove_all(folder / "out");
        continue;
      }
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().kind(), ErrorKind::cancelled);
      EXPECT_THAT(test::names_in(folder.path()), ElementsAre("data"));
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
  WriterOptions options;
  options.run_records = 1;
  RecordWriter writer = RecordWriter::create(folder / "s.dvt", options).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  writer.finish().value();
  const std::vector<BlockInfo> blocks = describe_shard(folder / "s.dvt").value().blocks;
  ASSERT_EQ(blocks.size(), records.size());
  const Bytes good = test::read_file(folder / "s.dvt");
  const RecoverReport whole = recovered(folder / "s.dvt", folder / "out.dvt");
  EXPECT_THAT(whole.lost, IsEmpty());
  EXPECT_LE(whole.checked_bytes, 3 * whole.source_bytes);
  EXPECT_EQ(test::read_shard_file(folder / "out.dvt").records, records);

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
      test::write_file(folder / "s.dvt", as_chars(damaged));
      const RecoverReport report = recovered(folder / "s.dvt", folder / "out.dvt", {.overwrite = true});
      EXPECT_TRUE(test::read_shard_file(folder / "out.dvt").records == wanted);
      ASSERT_THAT(report.lost, SizeIs(1));
      EXPECT_EQ(report.lost[0].offset, blocks[lost].offset);
      EXPECT_EQ(report.lost[0].first_record, lost);
      EXPECT_EQ(report.lost[0].end_record, lost + 1);
    }
  }
}

TEST(RecoverLivingWriterTest, WhatAWriterIsStillWritingIsRefused) {
  const TempFolder folder;
  const auto expect_refused = [&](const std::string& source) {
    const auto report = recover(source, folder / "out");
    ASSERT_FALSE(report);
    EXPECT_TRUE(report.error().is(Errc::unfinished)) << report.error().to_string();
    EXPECT_THAT(report.error().detail(), HasSubstr("is writing"));
    EXPECT_THAT(report.error().path(), HasSubstr(".partial-"));
    EXPECT_FALSE(fs::exists(folder / "out"));
  };
  fs::create_directory(folder / "data");
  std::optional<RecordWriter> shard = RecordWriter::create(folder / "data/s.dvt").value();
  const std::string partial = folder / "data/" + test::names_in(folder / "data").front();
  for (int i = 0; i < 300; ++i) shard->append(as_bytes(test::noise(10'000, 1))).value();
  const Bytes begun = test::read_file(partial);
  expect_refused(partial);
  expect_refused(folder / "data");
  ASSERT_TRUE(shard->finish());
  EXPECT_TRUE(recovered(folder / "data/s.dvt", folder / "whole").ok());

  // A copy is nobody's, like what a writer leaves that is gone.
  test::write_file(folder / "data/.t.dvt.partial-1-a", as_chars(begun).substr(0, 1 << 20));
  EXPECT_GT(recovered(folder / "data/.t.dvt.partial-1-a", folder / "again").records, 10u);

  DatasetWriter dataset = DatasetWriter::create(folder / "many").value();
  for (int i = 0; i < 300; ++i) dataset.append(as_bytes(test::noise(10'000, 2))).value();
  for (const char* source : {"many.partial", "many.partial/split"}) {
    fs::create_directory(folder / "many.partial/split");
    const auto refused = recover(folder / source, folder / "out");
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is(Errc::unfinished)) << refused.error().to_string();
    EXPECT_THAT(refused.error().detail(), HasSubstr("a writer is at work here"));
  }
  dataset.abandon();
}

TEST(RecoverLivingWriterTest, AFinishedFileIsNobodysAlthoughAForkOfItsWriterLives) {
  const TempFolder folder;
  RecordWriter writer = RecordWriter::create(folder / "s.dvt").value();
  ASSERT_TRUE(writer.append(as_bytes("record")));
  const testing::ForkedChild child;
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(recovered(folder / "s.dvt", folder / "again").records, 1u);
}

TEST(RecoverKilledWriterTest, WhatAKilledWriterLeavesIsSavedUpToItsLastBlock) {
  const TempFolder folder;
  for (const std::string kind : {"shard", "dataset"}) {
    SCOPED_TRACE(kind);
    const std::string place = kind == "shard" ? folder / "shard" : folder / "dataset.partial";
    if (kind == "shard") fs::create_directory(place);
    const std::string target = kind == "shard" ? folder / "shard/s.dvt" : folder / "dataset";
    const pid_t child = testing::spawn(DOVETAIL_ENDLESS_WRITER, {kind, target});
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
    const std::vector<std::string> left = test::names_in(place);
    ASSERT_FALSE(left.empty());
    EXPECT_FALSE(fs::exists(target));
    const std::string source = kind == "shard" ? folder / ("shard/" + left.front()) : place;
    const RecoverReport report = recovered(source, folder / ("out-" + kind));
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(report.expected_records);
    EXPECT_GT(report.records, 100u);
    const Records records = kind == "shard" ? test::read_shard_file(folder / "out-shard").records
                                            : test::read_dataset(folder / "out-dataset").records;
    const std::string record(10'000, 'x');
    EXPECT_TRUE(std::all_of(records.begin(), records.end(), [&](const std::string& r) { return r == record; }));
  }
}

}  // namespace
}  // namespace dovetail
