// SPDX-License-Identifier: Apache-2.0
// Shards whose checksums are good and whose blocks or counts are not: made to mislead, or by a
// faulty writer.
#include <dovetail/recover.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <dovetail/record_reader.h>

#include "format/crc32c/crc32c.h"
#include "format/messages.h"
#include "format/structures.h"
#include "tests/convert/recoveries.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

/// A sample without its end, so that nothing but the blocks says what they are.
Bytes unfinished(const ShardSpec& spec) {
  const SampleShard shard = make_shard(spec);
  Bytes bytes = shard.bytes;
  bytes.resize(read_shard(bytes).value().tail.footer.index_offset);
  return bytes;
}

/// Changes the header of a block, or its body, and makes all checksums good again.
template <class Change>
void forge(Bytes& file, std::uint64_t offset, Change&& change) {
  const auto head = std::span<std::byte>(file).subspan(offset).first<format::kBlockHeaderBytes>();
  format::BlockHeader header = format::decode_block_header(head).value();
  const auto body = std::span<std::byte>(file).subspan(offset + format::kBlockHeaderBytes, header.body_bytes());
  change(header, body);
  header.payload_crc = format::crc32c(body);
  format::encode(header, head);
}

/// Changes the trailer, and makes its checksum good again.
template <class Change>
void forge_trailer(Bytes& file, Change&& change) {
  const auto end = std::span<std::byte>(file).last<format::kTrailerBytes>();
  format::Trailer trailer = format::decode_trailer(end).value();
  change(trailer);
  format::encode(trailer, end);
}

using RecoverClaimsTest = RecoverTest;
using RecoverHostileTest = RecoverTest;

TEST_F(RecoverClaimsTest, CountsThatDisagreeAreNeverGood) {
  ShardSpec spec;
  for (char c = 'a'; c < 'a' + 24; ++c) spec.records.emplace_back(4, c);
  const Bytes good = make_shard(spec).bytes;
  const DecodedShard decoded = read_shard(good).value();
  const std::uint64_t index = decoded.tail.footer.index_offset;
  const std::uint64_t footer = decoded.tail.trailer.footer_offset;
  const auto expect_told = [&](const Bytes& file, std::uint64_t offset, const char* reason) {
    SCOPED_TRACE(reason);
    write_file(folder_ / "s.dvt", as_chars(file));
    const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt", {.overwrite = true});
    EXPECT_EQ(report.records, spec.records.size());
    ASSERT_THAT(report.lost, SizeIs(1));
    EXPECT_EQ(report.lost[0].offset, offset);
    EXPECT_THAT(report.lost[0].reason, HasSubstr(reason));
    EXPECT_EQ(report.lost[0].end_record, report.lost[0].first_record);
  };
  Bytes file = good;
  forge_trailer(file, [](format::Trailer& told) { told.records = 20; });
  expect_told(file, footer,
              "the end of the file: the footer counts other records or blocks before it than the trailer");
  file = good;
  forge_trailer(file, [](format::Trailer& told) { told.blocks = 9; });
  expect_told(file, footer, "the end of the file: blocks in the footer: 12, in the trailer: 9");
  file = good;
  forge(file, index, [](format::BlockHeader& header, const auto&) { header.first_record = 22; });
  expect_told(file, index, "the end of the file: the index counts other records or blocks before it than the footer");
  file = good;
  forge(file, footer, [](format::BlockHeader& header, const auto&) { header.first_record = 21; });
  expect_told(file, footer,
              "the end of the file: the footer counts other records or blocks before it than the trailer");
  file = good;
  forge(file, footer, [](format::BlockHeader& header, const auto&) { ++header.sequence; });
  expect_told(file, index, "the end of the file: the index counts other records or blocks before it than the footer");
}

TEST_F(RecoverClaimsTest, ACountAboveWhatIsFoundIsLostRecords) {
  Bytes file = make_shard({.records = {"a", "b", "c"}}).bytes;
  forge_trailer(file, [](format::Trailer& told) { told.records = 5; });
  write_file(folder_ / "s.dvt", as_chars(file));
  const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt");
  EXPECT_EQ(report.expected_records, 5u);
  EXPECT_EQ(report.lost_records, 2u);
}

TEST_F(RecoverClaimsTest, AManifestAndAFooterThatDisagreeAreNeverGood) {
  const Bytes shard = make_shard({.records = {"a", "bb", "cccc"}, .shard_number = 0}).bytes;
  ShardInfo info = make_shard({.records = {"a", "bb", "cccc"}, .shard_number = 0}).info;
  fs::create_directory(data_);
  write_file(data_ + "/s.dvt", as_chars(shard));
  const auto write_manifest = [&](const ShardInfo& told) {
    ShardSpec spec{.records = {format::encode(told)},
                   .shard_number = format::kManifestShardNumber,
                   .metadata = {format::kManifestRecordType, "sample", {}}};
    write_file(data_ + "/manifest.dvt", as_chars(make_shard(spec).bytes));
  };
  const auto recover_with = [&](const ShardInfo& told) {
    write_manifest(told);
    return recovered(data_, out_, {.overwrite = true});
  };
  info.name = "s.dvt";
  info.file_bytes = shard.size();
  EXPECT_TRUE(recover_with(info).ok());
  for (const auto field :
       {&ShardInfo::blocks, &ShardInfo::run_records, &ShardInfo::raw_bytes, &ShardInfo::file_bytes}) {
    ShardInfo told = info;
    ++(told.*field);
    const RecoverReport report = recover_with(told);
    EXPECT_EQ(report.records, 3u);
    ASSERT_THAT(report.lost, SizeIs(1));
    EXPECT_THAT(report.lost[0].reason, HasSubstr("the manifest has other counts or sizes"));
  }
  for (const auto field : {&ShardInfo::records, &ShardInfo::fingerprint}) {
    ShardInfo told = info;
    told.*field = 2;  // then the records are others, and this is not the shard of the manifest
    write_manifest(told);
    EXPECT_THAT(recover(data_, out_, {.overwrite = true}), Fails(Errc::manifest_mismatch));
  }
}

TEST_F(RecoverHostileTest, ABlockThatDoesNotDecodeIsToldAndLeftOut) {
  ShardSpec spec{.codec = Codec::snappy};
  for (std::uint64_t i = 0; i < 8; ++i) spec.records.push_back(prose(200, i));
  const DecodedShard good = read_shard(make_shard(spec).bytes).value();
  Bytes file = unfinished(spec);
  forge(file, good.blocks[1].offset, [](const auto&, std::span<std::byte> body) { body.back() ^= std::byte{0xFF}; });
  forge(file, good.blocks[2].offset, [](const auto& header, std::span<std::byte> body) {
    body[header.table_bytes] = std::byte{1};  // the length that Snappy has in front
  });
  write_file(folder_ / "s.dvt", as_chars(file));
  const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt");
  const Records saved = read_shard_file(folder_ / "out.dvt").records;
  EXPECT_THAT(saved, ::testing::Not(::testing::Contains(spec.records[4])));
  EXPECT_EQ(saved.back(), spec.records.back());
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.lost[0].reason, HasSubstr("does not decode"));
  EXPECT_EQ(report.lost[0].end_record, 6u);
}

TEST_F(RecoverHostileTest, OfBlocksThatContradictEachOtherTheLongerChainStays) {
  ShardSpec spec;
  for (char c = 'a'; c < 'a' + 20; ++c) spec.records.emplace_back(4, c);
  const DecodedShard good = read_shard(make_shard(spec).bytes).value();
  const struct {
    const char* name;
    std::int64_t first_record;
    std::int32_t sequence;
  } lies[] = {{"records of the block before", -1, 0},
              {"records of blocks far behind", 9, 0},
              {"more blocks than records", 0, 3},
              {"the number of an earlier block", 0, -2},
              {"records far beyond", 1 << 30, 0}};
  for (const auto& lie : lies) {
    SCOPED_TRACE(lie.name);
    Bytes file = unfinished(spec);
    forge(file, good.blocks[4].offset, [&](format::BlockHeader& header, std::span<std::byte>) {
      header.first_record += static_cast<std::uint64_t>(lie.first_record);
      header.sequence += static_cast<std::uint32_t>(lie.sequence);
    });
    write_file(folder_ / "s.dvt", as_chars(file));
    const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt", {.overwrite = true});
    Records wanted = spec.records;
    wanted.erase(wanted.begin() + 8, wanted.begin() + 10);
    EXPECT_EQ(read_shard_file(folder_ / "out.dvt").records, wanted);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.lost[0].offset, good.blocks[4].offset);
    EXPECT_EQ(report.lost[0].first_record, 8u);
    EXPECT_EQ(report.lost[0].end_record, 10u);
    EXPECT_THAT(report.lost[0].reason, HasSubstr("contradicts"));
  }
}

TEST_F(RecoverHostileTest, ABlockThatLosesAgainstOneFurtherBackRejectsNone) {
  ShardSpec spec;
  for (char c = 'a'; c < 'a' + 24; ++c) spec.records.emplace_back(4, c);
  const DecodedShard good = read_shard(make_shard(spec).bytes).value();
  Bytes file = unfinished(spec);
  for (const std::size_t gone : {6u, 8u, 11u})
    file.at(good.blocks[gone].offset + format::kBlockHeaderBytes) ^= std::byte{1};
  // Two that follow each other beat block 7, which stands alone, but not the chain of 0 to 5, whose
  // numbers they have.
  for (const std::size_t i : {9u, 10u}) {
    forge(file, good.blocks[i].offset, [](format::BlockHeader& header, std::span<std::byte>) { header.sequence -= 7; });
  }
  write_file(folder_ / "s.dvt", as_chars(file));
  recovered(folder_ / "s.dvt", folder_ / "out.dvt");
  Records wanted(spec.records.begin(), spec.records.begin() + 12);
  wanted.insert(wanted.end(), spec.records.begin() + 14, spec.records.begin() + 16);
  EXPECT_EQ(read_shard_file(folder_ / "out.dvt").records, wanted);
}

TEST_F(RecoverHostileTest, DirtyPaddingOfManyBlocksIsOnePlace) {
  ShardSpec spec;
  for (char c = 'a'; c < 'a' + 24; ++c) spec.records.emplace_back(4, c);
  const DecodedShard good = read_shard(make_shard(spec).bytes).value();
  Bytes file = make_shard(spec).bytes;
  std::uint64_t padding = 0;
  for (const format::BlockHeader& block : good.blocks) {
    file.at(block.offset + block.span_bytes() - 1) = std::byte{1};
    if (&block != &good.blocks[6]) padding += block.span_bytes() - format::kBlockHeaderBytes - block.body_bytes();
  }
  file.at(good.blocks[6].offset + format::kBlockHeaderBytes) ^= std::byte{1};
  write_file(folder_ / "s.dvt", as_chars(file));
  const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt");
  ASSERT_THAT(report.lost, SizeIs(2));
  EXPECT_THAT(report.lost[0].reason, HasSubstr("padding that is not zero, of 11 blocks"));
  const format::BlockHeader& first = good.blocks[0];
  EXPECT_EQ(report.lost[0].offset, first.offset + format::kBlockHeaderBytes + first.body_bytes());
  EXPECT_EQ(report.lost[0].bytes, padding) << "neither good blocks nor the bytes of the next region";
  EXPECT_EQ(report.lost[1].offset, good.blocks[6].offset);
  EXPECT_EQ(report.lost[1].end_record, 14u);
}

/// Headers that all claim the same bytes, at every place where one can be, behind a shard's
/// beginning.
Bytes hostile_file(std::size_t bytes, std::uint32_t body) {
  Bytes file = make_shard({.records = {"first", "second"}}).bytes;
  const std::uint64_t file_id = format::make_file_id(sample_dataset_id(), 3);
  for (std::uint32_t sequence = 100; file.size() < bytes; ++sequence) {
    format::BlockHeader header;
    header.offset = file.size();
    header.first_record = sequence;
    header.sequence = sequence;
    header.records = 1;
    header.stored_bytes = header.raw_bytes = body;
    header.file_id = file_id;
    header.payload_crc = 0x12345678;
    file.resize(file.size() + format::kBlockHeaderBytes);
    format::encode(header, std::span<std::byte>(file).last<format::kBlockHeaderBytes>());
  }
  return file;
}

TEST_F(RecoverHostileTest, ALongListOfRegionsIsCutAndAllAreCounted) {
  ShardSpec spec;
  for (int i = 0; i < 400; ++i) spec.records.push_back(std::to_string(i));
  Bytes bytes = make_shard(spec).bytes;
  write_file(folder_ / "s.dvt", as_chars(bytes));
  const std::vector<BlockInfo> blocks = describe_shard(folder_ / "s.dvt").value().blocks;
  ASSERT_GE(blocks.size(), 100u);
  for (std::size_t i = 0; i < blocks.size(); i += 2)
    bytes[blocks[i].offset + format::kBlockHeaderBytes] ^= std::byte{1};
  write_file(folder_ / "s.dvt", as_chars(bytes));
  const RecoverReport all = recovered(folder_ / "s.dvt", folder_ / "out.dvt");
  EXPECT_EQ(all.lost_regions, (blocks.size() + 1) / 2);
  for (const std::uint64_t most : {0u, 1u, 7u}) {
    const RecoverReport cut =
        recover(folder_ / "s.dvt", folder_ / "out.dvt", {.overwrite = true, .most_regions = most}).value();
    EXPECT_FALSE(cut.ok());
    EXPECT_EQ(cut.lost, std::vector<LostRange>(all.lost.begin(), all.lost.begin() + static_cast<std::ptrdiff_t>(most)));
    EXPECT_EQ(cut.lost_regions, all.lost_regions);
    EXPECT_EQ(cut.lost_records, all.lost_records);
  }
}

TEST_F(RecoverHostileTest, WorkIsLinearInTheSizeWhateverTheHeadersClaim) {
  for (const std::uint32_t body : {1u << 10, 1u << 16, 1u << 20, 3u << 20}) {
    for (const std::size_t bytes : {std::size_t{2} << 20, std::size_t{8} << 20}) {
      write_file(folder_ / "s.dvt", as_chars(hostile_file(bytes, body)));
      const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt", {.overwrite = true});
      EXPECT_EQ(read_shard_file(folder_ / "out.dvt").records, (Records{"first", "second"}));
      EXPECT_LE(report.checked_bytes, 9 * report.source_bytes);
      EXPECT_FALSE(report.ok());
      EXPECT_LE(report.lost.size(), 3u);
      const bool told = std::any_of(report.lost.begin(), report.lost.end(), [](const LostRange& region) {
        return region.reason.find("to try all") != std::string::npos;
      });
      EXPECT_EQ(told, body < bytes) << "bodies of " << body << " bytes";
    }
  }
}

// Such files tell nothing of the records that all shards have in common, so one after the other is
// searched for that.
TEST_F(RecoverHostileTest, WorkIsLinearInFoldersToo) {
  const std::size_t shard_bytes = make_shard({.records = {"first", "second"}}).bytes.size();
  for (const auto& [name, times] : {std::pair("a.dvt", 9u), std::pair("part-00000-of-00001.dvt", 16u)}) {
    const TempFolder folder;
    fs::create_directory(folder / "data");
    Bytes file = hostile_file(2 << 20, 1 << 16);
    file.erase(file.begin() + format::kFileHeaderBytes, file.begin() + static_cast<std::ptrdiff_t>(shard_bytes));
    write_file(folder / "data/" + name, as_chars(file));
    Bytes last = make_shard({.records = {"first", "second"}, .shard_number = 4}).bytes;
    last.resize(last.size() - format::kTrailerBytes);
    write_file(folder / "data/z.dvt", as_chars(last));
    std::uint64_t told = 0;
    const RecoverOptions options{.progress = [&](std::uint64_t, std::uint64_t bytes) {
      told = bytes;
      return true;
    }};
    const RecoverReport report = recovered(folder / "data", folder / "out", options);
    EXPECT_EQ(report.records, 2u) << name;
    EXPECT_EQ(report.source_bytes, file.size() + last.size()) << name;
    EXPECT_LE(told, times * report.source_bytes) << name;
    EXPECT_EQ(report.checked_bytes, told) << name;
  }
}

TEST_F(RecoverHostileTest, ARepeatedBlockOverlappedByOthersIsWrittenOnce) {
  ShardSpec spec{.records = {"aaaa", "bbbb", "cccc", "dddd"}};
  const Bytes shard = make_shard(spec).bytes;
  Bytes file = shard;
  for (int i = 0; i < 1000; ++i) file.insert(file.end(), shard.begin(), shard.end());
  write_file(folder_ / "s.dvt", as_chars(file));
  const RecoverReport report = recovered(folder_ / "s.dvt", folder_ / "out.dvt");
  EXPECT_EQ(read_shard_file(folder_ / "out.dvt").records, spec.records);
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace dovetail::test
