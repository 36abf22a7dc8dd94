// SPDX-License-Identifier: Apache-2.0
// Shards with a block of a kind that this version does not know, as a later one may write them.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/record_reader.h>

#include "format/crc32c/crc32c.h"
#include "format/layout.h"
#include "format/messages.h"
#include "format/structures.h"
#include "tests/reader/dataset/record_lists.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

using format::BlockHeader;
using format::BlockType;

struct Block {
  BlockHeader header;
  std::string body;
};

std::string padded(const std::array<std::byte, 64>& structure, const std::string& body = {}) {
  std::string bytes(as_chars(structure));
  bytes += body;
  bytes.resize(format::align_up(bytes.size()));
  return bytes;
}

// Every block of a shard, without file header and trailer.
std::vector<Block> take_apart(const std::string& bytes) {
  std::vector<Block> blocks;
  const ByteView view = as_bytes(bytes);
  for (std::size_t at = format::kFileHeaderBytes; at + format::kTrailerBytes < bytes.size();) {
    const BlockHeader header = format::decode_block_header(view.subspan(at).first<64>()).value();
    blocks.push_back({header, bytes.substr(at + 64, header.body_bytes())});
    at += header.span_bytes();
  }
  return blocks;
}

// The same blocks in a file of their own: places, index, footer and trailer follow from their
// order.
std::string put_together(const std::string& file_header, std::vector<Block> blocks) {
  std::string bytes = file_header;
  std::string index;
  format::Trailer trailer;
  for (Block& block : blocks) {
    block.header.offset = bytes.size();
    block.header.sequence = static_cast<std::uint32_t>(&block - blocks.data());
    if (block.header.type == BlockType::index) {
      block.body = index;
    } else if (block.header.type == BlockType::footer) {
      format::Footer footer = format::decode_footer(as_bytes(block.body)).value();
      footer.index_offset = (&block - 1)->header.offset;
      footer.index_crc = format::crc32c(as_bytes(index));
      block.body = format::encode(footer);
      trailer = {0, bytes.size(), footer.info.records, footer.info.blocks, footer.info.file_id};
    }
    BlockHeader& header = block.header;
    if (header.type != BlockType::data)
      header.stored_bytes = header.raw_bytes = static_cast<std::uint32_t>(block.body.size());
    header.payload_crc = format::crc32c(as_bytes(block.body));
    std::array<std::byte, 64> encoded;
    format::encode(header, encoded);
    if (header.type == BlockType::data) {
      std::array<std::byte, format::kIndexEntryBytes> entry;
      format::encode(format::IndexEntry{header.offset, header.records, header.stored_bytes, header.raw_bytes,
                                        header.table_bytes, header.payload_crc, header.codec},
                     entry);
      index += as_chars(entry);
    }
    bytes += padded(encoded, block.body);
  }
  trailer.file_bytes = bytes.size() + format::kTrailerBytes;
  std::array<std::byte, format::kTrailerBytes> encoded;
  format::encode(trailer, encoded);
  return bytes + std::string(as_chars(encoded));
}

Block unknown_block(std::uint64_t file_id, const std::string& body) {
  Block block;
  block.header.type = static_cast<BlockType>(0x90);
  block.header.file_id = file_id;
  block.body = body;
  return block;
}

class SkippableBlockTest : public FolderTest {
 protected:
  SkippableBlockTest() {
    const SampleShard shard = make_shard({.records = numbered_records(10)});
    good_ = as_chars(shard.bytes);
    std::vector<Block> blocks = take_apart(good_);
    blocks.insert(blocks.begin() + 1, {unknown_block(shard.info.file_id, "from the future"),
                                       unknown_block(shard.info.file_id, std::string(100, 'x'))});
    extended_ = put_together(good_.substr(0, 64), std::move(blocks));
  }

  void write(const std::string& bytes) { write_file(path(), bytes); }
  std::string path() const { return folder_.path("a.dvt"); }

  std::string good_;
  std::string extended_;
};

TEST_F(SkippableBlockTest, TakingApartAndPuttingTogetherChangesNothing) {
  EXPECT_EQ(put_together(good_.substr(0, 64), take_apart(good_)), good_);
}

TEST_F(SkippableBlockTest, ReadersPassOverIt) {
  write(extended_);
  RecordReader reader = RecordReader::open(path()).value();
  EXPECT_EQ(read_records(reader), numbered_records(10));
  const VerifyReport report = verify(path()).value();
  EXPECT_TRUE(report.ok()) << report.damaged[0].reason;
  EXPECT_EQ(report.records, 10u);
}

TEST_F(SkippableBlockTest, VerifyChecksItAllTheSame) {
  const std::size_t begin = 64 + take_apart(good_)[0].header.span_bytes();
  const std::size_t end = begin + 128 + 192;
  for (std::size_t i = begin; i < end; ++i) {
    std::string bytes = extended_;
    bytes[i] = static_cast<char>(~bytes[i]);
    write(bytes);
    const VerifyReport report = verify(path(), 1).value();
    ASSERT_EQ(report.damaged.size(), 1u) << i;
    EXPECT_EQ(report.damaged[0].first_record, report.damaged[0].end_record) << i;
    EXPECT_EQ(report.records, 10u) << i;
  }
}

}  // namespace
}  // namespace dovetail::test
