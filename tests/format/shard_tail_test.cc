// SPDX-License-Identifier: Apache-2.0
// Footers, trailers and indices that are well formed, with good checksums, and lie.
#include <algorithm>
#include <functional>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/shard_decoder.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"

namespace dovetail::format {
namespace {

using test::Bytes;
using test::DecodedShard;
using test::make_shard;
using test::read_shard;
using test::SampleShard;
using test::ShardSpec;

ShardSpec sample_spec() {
  return {.records = {"dove", "tails", "pin", "saw", "", "glue"}};
}

void append_block(BlockHeader header, ByteView body, Bytes& out) {
  header.stored_bytes = header.raw_bytes = static_cast<std::uint32_t>(body.size());
  header.payload_crc = crc32c(body);
  const std::size_t start = out.size();
  out.resize(start + header.span_bytes());
  encode(header, std::span<std::byte>(out).subspan(start).first<kBlockHeaderBytes>());
  std::copy(body.begin(), body.end(), out.begin() + static_cast<std::ptrdiff_t>(start + kBlockHeaderBytes));
}

/// Writes the end of a good file anew, with changes.
struct Forger {
  std::function<void(std::vector<IndexEntry>&)> index = {};
  std::function<void(BlockHeader&)> index_header = {};
  std::function<void(Footer&)> footer = {};
  std::function<void(BlockHeader&)> footer_header = {};
  std::function<void(Trailer&)> trailer = {};
  std::string appended_to_footer = {};
  std::uint32_t skippable_blocks = 0;  ///< Announced by the sequence numbers only.

  Bytes forge(const ShardSpec& spec) const {
    const SampleShard shard = make_shard(spec);
    DecodedShard good = read_shard(shard.bytes).value();
    Footer new_footer = good.tail.footer;
    new_footer.info.file_bytes = 0;
    Bytes bytes(shard.bytes.begin(), shard.bytes.begin() + static_cast<std::ptrdiff_t>(new_footer.index_offset));

    if (index) index(good.index);
    Bytes entries(good.index.size() * kIndexEntryBytes);
    for (std::size_t i = 0; i < good.index.size(); ++i) {
      encode(good.index[i], std::span<std::byte>(entries).subspan(i * kIndexEntryBytes).first<kIndexEntryBytes>());
    }
    BlockHeader header;
    header.type = BlockType::index;
    header.offset = bytes.size();
    header.first_record = new_footer.info.records;
    header.sequence = static_cast<std::uint32_t>(1 + new_footer.info.blocks) + skippable_blocks;
    header.file_id = new_footer.info.file_id;
    BlockHeader index_block = header;
    if (index_header) index_header(index_block);
    append_block(index_block, entries, bytes);
    new_footer.index_crc = crc32c(entries);

    Trailer new_trailer = good.tail.trailer;
    new_trailer.footer_offset = bytes.size();
    header.type = BlockType::footer;
    header.offset = bytes.size();
    ++header.sequence;
    if (footer_header) footer_header(header);
    if (footer) footer(new_footer);
    const std::string message = encode(new_footer) + appended_to_footer;
    append_block(header, as_bytes(message), bytes);

    new_trailer.file_bytes = bytes.size() + kTrailerBytes;
    if (trailer) trailer(new_trailer);
    bytes.resize(bytes.size() + kTrailerBytes);
    encode(new_trailer, std::span<std::byte>(bytes).last<kTrailerBytes>());
    return bytes;
  }
};

Result<ShardTail> tail_of(ByteView file) {
  return decode_tail(file.last(std::min<std::size_t>(file.size(), kTailBytes)), file.size());
}

TEST(ShardTailTest, TellsCountsLimitsAndTheSizeOfTheFile) {
  const SampleShard shard = make_shard(sample_spec());
  const ShardTail tail = tail_of(shard.bytes).value();
  EXPECT_EQ(tail.footer.info, shard.info);
  EXPECT_EQ(tail.trailer.records, 6u);
  EXPECT_EQ(tail.first_sequence, 1u);
  EXPECT_EQ(Forger{}.forge(sample_spec()), shard.bytes);
}

TEST(ShardTailTest, ErrorsCarryTheOffsetInTheFile) {
  Bytes bytes = make_shard(sample_spec()).bytes;
  const ShardTail good = tail_of(bytes).value();
  bytes[good.trailer.footer_offset + kBlockHeaderBytes] ^= std::byte{1};
  EXPECT_THAT(tail_of(bytes), test::Fails(Errc::payload_checksum).in("").at(good.trailer.footer_offset));
  bytes.pop_back();
  EXPECT_THAT(tail_of(bytes), test::Fails().at(bytes.size() - kTrailerBytes));
}

TEST(ShardTailTest, NeedsAllOfTheEnd) {
  const Bytes bytes = make_shard(sample_spec()).bytes;
  EXPECT_THAT(decode_tail(ByteView(bytes).last(bytes.size() - 1), bytes.size()), test::Fails(Errc::truncated));
  EXPECT_THAT(decode_tail({}, bytes.size()), test::Fails(Errc::truncated));
  EXPECT_THAT(decode_tail({}, 0), test::Fails(Errc::unfinished));
  EXPECT_THAT(decode_tail(ByteView(bytes).last(63), 63), test::Fails(Errc::unfinished));
}

TEST(ShardTailTest, ReadsAFooterAsLargeAsTheTailAllowsAndNoLarger) {
  const auto with_footer_bytes = [](std::size_t size) {
    Forger forger;
    const ShardTail good = tail_of(make_shard(sample_spec()).bytes).value();
    Footer footer = good.footer;
    footer.info.file_bytes = 0;
    const std::size_t rest = size - encode(footer).size();
    // An unknown field 100 with a length of three bytes.
    const std::size_t text = rest - 5;
    forger.appended_to_footer = {'\xA2', '\x06', static_cast<char>(0x80 | (text & 0x7F)),
                                 static_cast<char>(0x80 | ((text >> 7) & 0x7F)), static_cast<char>(text >> 14)};
    forger.appended_to_footer += std::string(text, 'x');
    return tail_of(forger.forge(sample_spec()));
  };
  const auto largest = with_footer_bytes(kMaxFooterBytes);
  EXPECT_TRUE(largest) << largest.error().to_string();
  EXPECT_THAT(with_footer_bytes(kMaxFooterBytes + 1), test::Fails(Errc::bad_length));
}

TEST(ShardTailTest, LeavesRoomForSkippableBlocksBeforeTheData) {
  Forger forger;
  forger.skippable_blocks = 2;
  EXPECT_EQ(tail_of(forger.forge(sample_spec())).value().first_sequence, 3u);
}

struct Lie {
  std::string name;
  Errc code;
  Forger forger;
};

void PrintTo(const Lie& value, std::ostream* os) {
  *os << value.name;
}

class LyingTailTest : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingTailTest, IsReported) {
  const Bytes bytes = GetParam().forger.forge(sample_spec());
  const auto decoded = read_shard(bytes);
  ASSERT_THAT(decoded, test::Fails(GetParam().code));
  EXPECT_TRUE(decoded.error().offset().has_value());
}

Lie footer_lie(std::string name, Errc code, std::function<void(Footer&)> change) {
  return {std::move(name), code, {.footer = std::move(change)}};
}
Lie footer_header_lie(std::string name, Errc code, std::function<void(BlockHeader&)> change) {
  return {std::move(name), code, {.footer_header = std::move(change)}};
}
Lie trailer_lie(std::string name, Errc code, std::function<void(Trailer&)> change) {
  return {std::move(name), code, {.trailer = std::move(change)}};
}
Lie index_lie(std::string name, Errc code, std::function<void(std::vector<IndexEntry>&)> change) {
  return {std::move(name), code, {.index = std::move(change)}};
}
Lie index_header_lie(std::string name, Errc code, std::function<void(BlockHeader&)> change) {
  return {std::move(name), code, {.index_header = std::move(change)}};
}

std::vector<Lie> lies() {
  using Entries = std::vector<IndexEntry>;
  return {
      footer_lie("FooterRecords", Errc::index_mismatch, [](Footer& f) { f.info.records = 5; }),
      footer_lie("FooterFileId", Errc::index_mismatch, [](Footer& f) { f.info.file_id += 1; }),
      footer_lie("FooterIndexOffsetOdd", Errc::index_mismatch, [](Footer& f) { f.index_offset += 1; }),
      footer_lie("FooterIndexOffsetEarly", Errc::index_mismatch, [](Footer& f) { f.index_offset -= 64; }),
      footer_lie("FooterIndexOffsetLate", Errc::index_mismatch, [](Footer& f) { f.index_offset += 64; }),
      footer_lie("FooterIndexOffsetHuge", Errc::index_mismatch, [](Footer& f) { f.index_offset = ~std::uint64_t{63}; }),
      footer_lie("FooterStoredBytes", Errc::index_mismatch,
                 [](Footer& f) { f.info.stored_bytes = f.info.max_block_stored = 100000; }),
      footer_lie("FooterRawBytes", Errc::index_mismatch, [](Footer& f) { f.info.raw_bytes += 1; }),
      footer_lie("FooterMaxBlockRaw", Errc::index_mismatch, [](Footer& f) { f.info.max_block_raw += 1; }),
      footer_lie("FooterMaxBlockStored", Errc::index_mismatch, [](Footer& f) { f.info.max_block_stored += 1; }),
      footer_lie("FooterMaxBlockRecords", Errc::index_mismatch, [](Footer& f) { f.info.max_block_records += 1; }),
      footer_lie("FooterRunLength", Errc::index_mismatch, [](Footer& f) { f.info.run_records = 3; }),
      footer_lie("FooterContradiction", Errc::bad_message, [](Footer& f) { f.info.run_records = 0; }),
      footer_header_lie("FooterType", Errc::misplaced_block, [](BlockHeader& h) { h.type = BlockType::metadata; }),
      footer_header_lie("FooterOffset", Errc::misplaced_block, [](BlockHeader& h) { h.offset += 64; }),
      footer_header_lie("FooterHeaderFileId", Errc::misplaced_block, [](BlockHeader& h) { h.file_id += 1; }),
      footer_header_lie("FooterFirstRecord", Errc::misplaced_block, [](BlockHeader& h) { h.first_record += 1; }),
      footer_header_lie("FooterSequence", Errc::misplaced_block, [](BlockHeader& h) { h.sequence -= 1; }),
      trailer_lie("TrailerRecords", Errc::misplaced_block, [](Trailer& t) { t.records += 1; }),
      trailer_lie("TrailerBlocks", Errc::misplaced_block, [](Trailer& t) { t.blocks += 1; }),
      trailer_lie("TrailerFewerBlocks", Errc::index_mismatch, [](Trailer& t) { t.blocks -= 1; }),
      trailer_lie("TrailerFileId", Errc::misplaced_block, [](Trailer& t) { t.file_id += 1; }),
      trailer_lie("TrailerSmallerFile", Errc::bad_length, [](Trailer& t) { t.file_bytes -= 64; }),
      trailer_lie("TrailerLargerFile", Errc::truncated, [](Trailer& t) { t.file_bytes += 64; }),
      trailer_lie("TrailerFooterEarly", Errc::misplaced_block, [](Trailer& t) { t.footer_offset -= 192; }),
      trailer_lie("TrailerFooterAtStart", Errc::header_checksum, [](Trailer& t) { t.footer_offset = 0; }),
      trailer_lie("TrailerFooterLate", Errc::header_checksum, [](Trailer& t) { t.footer_offset += 64; }),
      index_lie("IndexGap", Errc::index_mismatch, [](Entries& e) { e[1].offset += 64; }),
      index_lie("IndexOrder", Errc::index_mismatch, [](Entries& e) { std::swap(e[0], e[1]); }),
      index_lie("IndexEarly", Errc::index_mismatch, [](Entries& e) { e[0].offset = 64; }),
      index_lie("IndexStopsShort", Errc::index_mismatch, [](Entries& e) { e[2].stored_bytes = e[2].raw_bytes = 100; }),
      index_lie("IndexRecords", Errc::index_mismatch, [](Entries& e) { e[1].records = 3; }),
      index_lie("IndexBadLength", Errc::bad_length, [](Entries& e) { e[1].records = 0; }),
      index_lie("IndexFewerEntries", Errc::index_mismatch, [](Entries& e) { e.resize(2); }),
      index_header_lie("IndexType", Errc::misplaced_block, [](BlockHeader& h) { h.type = BlockType::metadata; }),
      index_header_lie("IndexOffset", Errc::misplaced_block, [](BlockHeader& h) { h.offset += 64; }),
      index_header_lie("IndexFileId", Errc::misplaced_block, [](BlockHeader& h) { h.file_id += 1; }),
      index_header_lie("IndexFirstRecord", Errc::misplaced_block, [](BlockHeader& h) { h.first_record -= 1; }),
      index_header_lie("IndexSequence", Errc::misplaced_block, [](BlockHeader& h) { h.sequence += 1; }),
  };
}

INSTANTIATE_TEST_SUITE_P(All, LyingTailTest, ::testing::ValuesIn(lies()),
                         [](const auto& instance) { return instance.param.name; });

TEST(MetadataBlockTest, IsTheOneBehindTheFileHeader) {
  const SampleShard shard = make_shard(sample_spec());
  const std::uint64_t file_id = shard.info.file_id;
  const ByteView block = ByteView(shard.bytes).subspan(kFileHeaderBytes);
  EXPECT_EQ(decode_metadata_block(block, file_id).value(), sample_spec().metadata);

  EXPECT_THAT(decode_metadata_block(block, file_id + 1), test::Fails(Errc::misplaced_block));
  EXPECT_THAT(decode_metadata_block(block.first(63), file_id), test::Fails(Errc::truncated));
  EXPECT_THAT(decode_metadata_block(block.first(70), file_id), test::Fails(Errc::truncated));
  const std::uint64_t data = read_shard(shard.bytes).value().index.front().offset;
  EXPECT_THAT(decode_metadata_block(ByteView(shard.bytes).subspan(data), file_id), test::Fails(Errc::misplaced_block));
  EXPECT_THAT(decode_metadata_block(block.first(70), file_id), test::Fails().at(kFileHeaderBytes));
}

}  // namespace
}  // namespace dovetail::format
