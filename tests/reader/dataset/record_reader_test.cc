// SPDX-License-Identifier: Apache-2.0
#include <dovetail/record_reader.h>

#include <filesystem>
#include <random>
#include <string>
#include <utility>

#include "tests/reader/dataset/record_lists.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class RecordReaderTest : public FolderTest {
 protected:
  std::string shard(const ShardSpec& spec) {
    write_shard(folder_.path(), "a.dvt", spec);
    return folder_.path("a.dvt");
  }
  std::string shard(Records records, Codec codec = Codec::none) {
    return shard({.records = std::move(records), .codec = codec, .run_records = 6, .block_records = 3});
  }
  // Flips a bit of the file.
  void damage(std::uint64_t offset) { flip_bit(folder_.path("a.dvt"), offset); }
};

std::string text_of(Result<std::optional<ByteView>> record) {
  return std::string(as_chars(record.value().value()));
}

TEST_F(RecordReaderTest, GivesAllRecordsInOrder) {
  const Records plain = numbered_records(20);
  Records prose;
  for (int i = 0; i < 20; ++i) prose.push_back(std::string(500, static_cast<char>('a' + i)));
  for (const Records& records : {plain, prose, Records{}, Records{""}, Records{"", "", "", ""}, Records(7, "same")}) {
    for (const Codec codec : {Codec::none, Codec::snappy}) {
      RecordReader reader = RecordReader::open(shard(records, codec)).value();
      EXPECT_EQ(read_records(reader), records);
      EXPECT_EQ(reader.position(), records.size());
      EXPECT_FALSE(reader.next().value().has_value());
    }
  }
}

TEST_F(RecordReaderTest, DescribesTheShard) {
  ShardSpec spec{.records = numbered_records(7), .run_records = 6, .block_records = 3, .shard_number = 5};
  const ShardInfo info = write_shard(folder_.path(), "a.dvt", spec);
  const ShardDescription described = describe_shard(folder_.path("a.dvt")).value();
  EXPECT_EQ(described.version_major, 1);
  EXPECT_EQ(described.dataset_id, sample_dataset_id());
  EXPECT_EQ(described.shard_number, 5u);
  EXPECT_EQ(described.record_type, "text");
  EXPECT_EQ(described.writer, "sample");
  EXPECT_EQ(described.metadata, (std::map<std::string, std::string>{{"colour", "blue"}}));
  EXPECT_EQ(described.info, info);
  ASSERT_EQ(described.blocks.size(), 3u);
  EXPECT_EQ(described.blocks[1].first_record, 3u);
  EXPECT_EQ(described.blocks[1].records, 3u);
  EXPECT_TRUE(described.blocks[1].has_table);
  EXPECT_FALSE(described.blocks[2].has_table);
  EXPECT_EQ(described.blocks[2].stored_bytes, spec.records[6].size());
  EXPECT_EQ(described.blocks[2].raw_bytes, spec.records[6].size());
  EXPECT_EQ(described.blocks[2].codec, Codec::none);

  const RecordReader reader = RecordReader::open(folder_.path("a.dvt")).value();
  EXPECT_EQ(reader.shard().info, info);
}

TEST_F(RecordReaderTest, SeeksToAnyRecord) {
  const Records records = numbered_records(50);
  RecordReader reader = RecordReader::open(shard(records)).value();
  std::mt19937 random(17);
  for (int i = 0; i < 500; ++i) {
    const std::size_t to = random() % (records.size() + 1);
    ASSERT_TRUE(reader.seek(to));
    EXPECT_EQ(reader.position(), to);
    for (std::size_t at = to; at < std::min(to + 5, records.size()); ++at)
      EXPECT_EQ(text_of(reader.next()), records[at]);
  }
}

TEST_F(RecordReaderTest, SeekingBeyondTheEndChangesNothing) {
  const Records records = numbered_records(5);
  RecordReader reader = RecordReader::open(shard(records)).value();
  ASSERT_TRUE(reader.seek(2));
  EXPECT_THAT(reader.seek(6), Fails(Errc::invalid_option));
  EXPECT_EQ(text_of(reader.next()), records[2]);
  ASSERT_TRUE(reader.seek(5));
  EXPECT_FALSE(reader.next().value().has_value());
}

TEST_F(RecordReaderTest, DamageNamesFileOffsetAndRecordsAndStays) {
  const std::string path = shard(numbered_records(9));
  const BlockInfo block = describe_shard(path).value().blocks[1];
  damage(block.offset + 64 + 20);
  RecordReader reader = RecordReader::open(path).value();
  EXPECT_EQ(read_records(reader), numbered_records(3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(reader.next(), Fails(Errc::payload_checksum).in(path).at(block.offset).saying("records [3, 6)"));
  }
  EXPECT_EQ(reader.position(), 3u);
}

TEST_F(RecordReaderTest, GoesOnBehindDamage) {
  const std::string path = shard(numbered_records(9));
  const BlockInfo block = describe_shard(path).value().blocks[1];
  damage(block.offset + 4);
  RecordReader reader = RecordReader::open(path).value();
  read_records(reader);
  const LostRange lost = reader.skip_damage();
  EXPECT_EQ(lost.offset, block.offset);
  EXPECT_EQ(lost.first_record, 3u);
  EXPECT_EQ(lost.end_record, 6u);
  EXPECT_EQ(reader.position(), 6u);
  const Records all = numbered_records(9);
  EXPECT_EQ(read_records(reader), Records(all.begin() + 6, all.end()));
}

TEST_F(RecordReaderTest, SkippingWithoutDamageSkipsNothing) {
  RecordReader reader = RecordReader::open(shard(numbered_records(4))).value();
  EXPECT_EQ(text_of(reader.next()), "");
  const LostRange lost = reader.skip_damage();
  EXPECT_EQ(lost.first_record, lost.end_record);
  EXPECT_EQ(reader.position(), 1u);
}

TEST_F(RecordReaderTest, SeekingAwayFromDamageReadsOn) {
  const std::string path = shard(numbered_records(9));
  damage(describe_shard(path).value().blocks[1].offset);
  RecordReader reader = RecordReader::open(path).value();
  ASSERT_TRUE(reader.seek(4));
  EXPECT_FALSE(reader.next());
  ASSERT_TRUE(reader.seek(7));
  EXPECT_EQ(text_of(reader.next()), numbered_records(9)[7]);
}

TEST_F(RecordReaderTest, BlocksThatChangedPlacesAreFound) {
  const std::string path = shard(Records(9, "all the same size"));
  const auto blocks = describe_shard(path).value().blocks;
  Bytes bytes = read_file(path);
  const std::size_t span = blocks[1].offset - blocks[0].offset;
  std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(blocks[0].offset),
                   bytes.begin() + static_cast<std::ptrdiff_t>(blocks[0].offset + span),
                   bytes.begin() + static_cast<std::ptrdiff_t>(blocks[1].offset));
  write_file(path, as_chars(bytes));
  RecordReader reader = RecordReader::open(path).value();
  EXPECT_THAT(reader.next(), Fails(Errc::misplaced_block));
}

TEST_F(RecordReaderTest, BlocksOfAnotherFileAreFound) {
  ShardSpec spec{.records = numbered_records(9)};
  const std::string path = shard(spec);
  const BlockInfo block = describe_shard(path).value().blocks[0];
  spec.shard_number = 1;
  std::string bytes(as_chars(read_file(path)));
  bytes.replace(block.offset, 64, as_chars(make_shard(spec).bytes), block.offset, 64);
  write_file(path, bytes);
  RecordReader reader = RecordReader::open(path).value();
  EXPECT_THAT(reader.next(), Fails(Errc::misplaced_block));
}

TEST_F(RecordReaderTest, AFileThatChangesWhileItIsReadHasChanged) {
  const std::string path = shard(numbered_records(9));
  const BlockInfo block = describe_shard(path).value().blocks[1];
  RecordReader reader = RecordReader::open(path).value();
  EXPECT_EQ(text_of(reader.next()), "");
  damage(block.offset + 64);
  ASSERT_TRUE(reader.seek(3));
  EXPECT_THAT(reader.next(), Fails(Errc::file_changed));
  fs::resize_file(path, block.offset + 10);
  ASSERT_TRUE(reader.seek(3));
  EXPECT_THAT(reader.next(), Fails(Errc::file_changed));
}

TEST_F(RecordReaderTest, RunsMustBeMadeOfWholeBlocks) {
  ShardSpec spec{.records = numbered_records(9), .run_records = 4, .block_records = 3, .blocks_cross_runs = true};
  EXPECT_THAT(RecordReader::open(shard(spec)), Fails(Errc::index_mismatch));
}

TEST_F(RecordReaderTest, HeaderAndEndMustBeOfOneFile) {
  ShardSpec spec{.records = numbered_records(9)};
  const std::string path = shard(spec);
  std::string bytes(as_chars(read_file(path)));
  spec.dataset_id.bytes[3] ^= 1;
  bytes.replace(0, 64, as_chars(make_shard(spec).bytes), 0, 64);
  write_file(path, bytes);
  EXPECT_THAT(RecordReader::open(path), Fails(Errc::index_mismatch));
}

TEST_F(RecordReaderTest, UnfinishedFilesSaySo) {
  const std::string path = shard(numbered_records(9));
  fs::resize_file(path, fs::file_size(path) - 64);
  EXPECT_THAT(RecordReader::open(path), Fails(Errc::unfinished).at(fs::file_size(path)).saying("can be recovered"));
}

TEST_F(RecordReaderTest, AHugeFileWithoutATrailerCostsNothing) {
  const std::string path = shard(numbered_records(9));
  fs::resize_file(path, std::uintmax_t{1} << 40);
  EXPECT_THAT(RecordReader::open(path), Fails(Errc::unfinished));
}

TEST_F(RecordReaderTest, IndexesLongerThanTheTailAreRead) {
  ShardSpec spec;
  spec.records.assign(5000, "x");
  spec.block_records = 1;
  RecordReader reader = RecordReader::open(shard(spec)).value();
  EXPECT_EQ(reader.shard().blocks.size(), 5000u);
  EXPECT_EQ(read_records(reader).size(), 5000u);
}

TEST_F(RecordReaderTest, ARecordLargerThanAnySharedBlockIsRead) {
  const std::string large(70u << 20, 'x');
  ShardSpec spec{.records = {"before", large, "behind"}, .block_records = 1};
  RecordReader reader = RecordReader::open(shard(spec)).value();
  EXPECT_EQ(text_of(reader.next()), "before");
  EXPECT_TRUE(text_of(reader.next()) == large);
  EXPECT_EQ(text_of(reader.next()), "behind");
}

TEST_F(RecordReaderTest, OpensShardsOfADataset) {
  write_dataset(folder_.path(), 3, 8);
  const Dataset dataset = Dataset::open(folder_.path()).value();
  for (std::uint32_t shard_number = 0; shard_number < 3; ++shard_number) {
    RecordReader reader = RecordReader::open(dataset, shard_number).value();
    EXPECT_EQ(read_records(reader), numbered_records(8, std::to_string(shard_number) + "/"));
  }
}

TEST_F(RecordReaderTest, MayBeMoved) {
  RecordReader reader = RecordReader::open(shard(numbered_records(4))).value();
  EXPECT_EQ(text_of(reader.next()), "");
  RecordReader moved = std::move(reader);
  EXPECT_EQ(text_of(moved.next()), numbered_records(4)[1]);
  EXPECT_THAT(reader.next(), Fails(Errc::closed));  // NOLINT(bugprone-use-after-move)
  EXPECT_THAT(reader.seek(0), Fails(Errc::closed));
}

}  // namespace
}  // namespace dovetail::test
