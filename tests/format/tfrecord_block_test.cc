// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord_block.h"

#include <array>
#include <string>
#include <vector>

#include "format/tfrecord/tfrecord_index.h"
#include "tests/support/fails.h"
#include "tests/support/sample_records.h"

namespace dovetail::format {
namespace {

/// Records in their frames, and what an index says of them as one block.
struct Framed {
  explicit Framed(const test::Records& from) : records(from) {
    FootersCrc footers;
    for (const std::string& record : records) {
      std::array<std::byte, kTfrecordHeaderBytes> header;
      std::array<std::byte, kTfrecordFooterBytes> footer;
      encode_tfrecord_header(record.size(), header);
      encode_tfrecord_footer(as_bytes(record), footer);
      stored.insert(stored.end(), header.begin(), header.end());
      stored.insert(stored.end(), as_bytes(record).begin(), as_bytes(record).end());
      stored.insert(stored.end(), footer.begin(), footer.end());
      footers.add(footer);
      entry.raw_bytes += static_cast<std::uint32_t>(record.size());
    }
    entry.records = static_cast<std::uint32_t>(records.size());
    entry.stored_bytes = static_cast<std::uint32_t>(stored.size());
    entry.payload_crc = footers.value();
  }

  Result<BlockRecords> decode(bool with_table = true) {
    table.assign(with_table ? records.size() * 4 : 0, std::byte{0xEE});
    return decode_tfrecord_block(entry, stored, table);
  }

  test::Records records;
  std::vector<std::byte> stored;
  std::vector<std::byte> table;
  IndexEntry entry;
};

void expect_records(const Result<BlockRecords>& block, const test::Records& records) {
  ASSERT_TRUE(block) << block.error().to_string();
  ASSERT_EQ(block->size(), records.size());
  for (std::uint32_t i = 0; i < block->size(); ++i) {
    EXPECT_EQ(as_chars((*block)[i]), records[i]);
  }
}

TEST(TfrecordBlockTest, FindsRecordsBetweenTheirFrames) {
  for (const test::Records& records : std::vector<test::Records>{
           {""}, {"one"}, {"one", "", "three", "four and more"}, {std::string(100'000, 'x'), "y"}}) {
    Framed framed(records);
    expect_records(framed.decode(), records);
  }
}

TEST(TfrecordBlockTest, NeedsNoTableForRecordsOfOneSize) {
  Framed framed({"aaaa", "bbbb", "cccc"});
  expect_records(framed.decode(false), framed.records);
  EXPECT_TRUE(framed.decode(false)->all_have(4));
  Framed others({"aaaa", "bbb", "ccccc"});
  EXPECT_THAT(others.decode(false), test::Fails().saying("record 1 of the block has another size"));
}

TEST(TfrecordBlockTest, ChecksTheFootersOfManyRecords) {
  test::Records records;
  for (int i = 0; i < 1000; ++i) records.push_back(std::to_string(i));
  Framed framed(records);
  expect_records(framed.decode(), records);
  framed.entry.payload_crc ^= 1;
  EXPECT_THAT(framed.decode(), test::Fails(Errc::index_mismatch));
}

TEST(TfrecordBlockTest, NoticesEveryFlippedBit) {
  Framed framed({"one", "", "three"});
  for (std::size_t bit = 0; bit < framed.stored.size() * 8; ++bit) {
    framed.stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(framed.decode()) << "bit " << bit;
    framed.stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  expect_records(framed.decode(), framed.records);
}

TEST(TfrecordBlockTest, NoticesGoodRecordsThatAreOthers) {
  const Framed indexed({"aaaa", "bbbb"});
  const auto error_of = [&](const test::Records& records) {
    Framed framed(records);
    framed.entry = indexed.entry;
    framed.stored.resize(indexed.stored.size());
    const auto block = framed.decode();
    EXPECT_FALSE(block);
    return block ? Error() : block.error();
  };
  EXPECT_TRUE(error_of({"bbbb", "aaaa"}).is(Errc::index_mismatch));
  EXPECT_TRUE(error_of({"aaa", "bbbbb"}).is(Errc::index_mismatch));
  EXPECT_TRUE(error_of({"aaaa", "bbbbb"}).is(Errc::index_mismatch));
  EXPECT_TRUE(error_of({"", "", "aaaaaaaaaaaaaaaaaaaaaaa"}).is(Errc::index_mismatch));
}

TEST(TfrecordBlockTest, ChecksASingleRecordWithoutItsFooter) {
  Framed framed({"a single record"});
  const auto check = [&] {
    const ByteView stored = framed.stored;
    return check_tfrecord(framed.entry, stored.first<kTfrecordHeaderBytes>(),
                          stored.subspan(kTfrecordHeaderBytes, framed.entry.raw_bytes));
  };
  EXPECT_TRUE(check());
  for (std::size_t bit = 0; bit < (framed.stored.size() - kTfrecordFooterBytes) * 8; ++bit) {
    framed.stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(check()) << "bit " << bit;
    framed.stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

class TfrecordIndexReaderTest : public ::testing::Test {
 protected:
  TfrecordIndexReaderTest() {
    info_.name = "a";
    info_.records = 7;
    info_.blocks = 3;
    info_.run_records = 4;
    info_.raw_bytes = 70;
    info_.stored_bytes = info_.file_bytes = 70 + 7 * 16;
    info_.min_record_bytes = info_.max_record_bytes = 10;
    info_.max_block_raw = 30;
    info_.max_block_stored = 30 + 3 * 16;
    info_.max_block_records = 3;
    TfrecordIdentity identity;
    for (const std::uint32_t records : {3u, 1u, 3u}) identity.add(block(records));
    info_.file_id = identity.value(info_.file_bytes);
  }

  Result<std::vector<IndexEntry>> read(const std::vector<TfrecordBlock>& blocks) const {
    TfrecordIndexReader reader(info_);
    std::vector<std::byte> bytes;
    for (const TfrecordBlock& block : blocks) encode(block, bytes);
    if (auto added = reader.add(bytes); !added) return added.error();
    return reader.finish();
  }

  static constexpr TfrecordBlock block(std::uint32_t records) { return {records, records * 26, records}; }

  ShardInfo info_;
};

TEST_F(TfrecordIndexReaderTest, GivesBlocksThatFollowEachOther) {
  const auto blocks = read({block(3), block(1), block(3)});
  ASSERT_TRUE(blocks) << blocks.error().to_string();
  ASSERT_EQ(blocks->size(), 3u);
  EXPECT_EQ((*blocks)[2].offset, 4u * 26);
  EXPECT_EQ((*blocks)[2].raw_bytes, 30u);
  EXPECT_EQ((*blocks)[2].payload_crc, 3u);
}

TEST_F(TfrecordIndexReaderTest, RefusesLimitsThatAreNotThoseOfTheBlocks) {
  const ShardInfo good = info_;
  const std::vector<TfrecordBlock> blocks = {block(3), block(1), block(3)};
  EXPECT_TRUE(read(blocks));
  for (std::uint32_t ShardInfo::*limit :
       {&ShardInfo::max_block_raw, &ShardInfo::max_block_stored, &ShardInfo::max_block_records}) {
    info_ = good;
    ++(info_.*limit);
    EXPECT_FALSE(read(blocks));
  }
  info_ = good;
  ++info_.file_id;
  EXPECT_FALSE(read(blocks));
}

TEST_F(TfrecordIndexReaderTest, RefusesBlocksThatCannotBe) {
  EXPECT_FALSE(read({block(3), block(1)}));                      // records are missing
  EXPECT_FALSE(read({block(3), block(1), block(3), block(1)}));  // one too many
  EXPECT_FALSE(read({block(3), block(3), block(1)}));            // over the end of a run
  EXPECT_FALSE(read({block(3), {0, 26, 0}, block(3)}));          // without records
  EXPECT_FALSE(read({block(3), {1, 15, 0}, block(3)}));          // shorter than its frame
  EXPECT_FALSE(read({block(3), {1, 27, 0}, block(3)}));          // past the end of the file
  EXPECT_FALSE(read({block(3), {1, 25, 0}, block(3)}));          // short of it
  EXPECT_FALSE(read({block(3), {1, 0xFFFFFFFF, 0}, block(3)}));  // above the limit
  TfrecordIndexReader reader(info_);
  EXPECT_FALSE(reader.add({}));
  const std::vector<std::byte> part(13);
  EXPECT_FALSE(reader.add(part));
}

}  // namespace
}  // namespace dovetail::format
