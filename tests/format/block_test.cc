// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include <snappy.h>
#include <zstd.h>

#include "format/block_decoder.h"
#include "format/block_encoder.h"
#include "format/crc32c/crc32c.h"
#include "tests/support/fails.h"
#include "tests/support/sample_shards.h"

namespace dovetail::format {
namespace {

using test::Bytes;
using test::encode_records;
using test::noise;
using test::prose;
using test::Records;

BlockHeader header_of(const EncodedBlock& block) {
  BlockHeader header;
  header.codec = block.codec;
  header.records = block.records;
  header.stored_bytes = block.stored_bytes();
  header.raw_bytes = block.raw_bytes;
  header.table_bytes = block.table_bytes;
  header.payload_crc = block.payload_crc;
  return header;
}

Result<Records> decode(const BlockHeader& header, ByteView body) {
  Bytes out(header.raw_bytes);
  const auto decoded = decode_block(header, body, out);
  if (!decoded) return decoded.error();
  Records records;
  for (std::uint32_t i = 0; i < decoded->size(); ++i) records.emplace_back(as_chars((*decoded)[i]));
  return records;
}

Records round_trip(const EncodedBlock& block) {
  return decode(header_of(block), block.body).value();
}

TEST(BlockEncoderTest, KeepsRecordsOfAnySizes) {
  const Records cases[] = {
      {"a"},
      {""},
      {"", "", ""},
      {"abc", "def"},
      {"", "a"},
      {"a", ""},
      {"abc", "", "defgh", noise(1000, 1)},
      {noise(5, 2), noise(5, 3), noise(5, 4)},
      Records(1000, prose(40, 5)),
      {prose(70000, 6), prose(3, 7)},
  };
  for (const Records& records : cases) {
    for (const Codec codec : {Codec::none, Codec::snappy, Codec::zstd})
      EXPECT_EQ(round_trip(encode_records(records, codec)), records);
  }
}

TEST(BlockEncoderTest, WritesATableOnlyWhereSizesDiffer) {
  EXPECT_EQ(encode_records({"abc"}, Codec::none).table_bytes, 0u);
  EXPECT_EQ(encode_records({""}, Codec::none).table_bytes, 0u);
  EXPECT_EQ(encode_records({"", "", ""}, Codec::none).table_bytes, 0u);
  EXPECT_EQ(encode_records({"abc", "def"}, Codec::none).table_bytes, 0u);
  EXPECT_EQ(encode_records({"abc", "de", "fghi"}, Codec::none).table_bytes, 12u);
  EXPECT_EQ(encode_records({"", "a"}, Codec::none).table_bytes, 8u);
  EXPECT_EQ(encode_records({"ab", "a", "abc"}, Codec::none).table_bytes, 12u);  // the mean size is that of the first
}

TEST(BlockEncoderTest, KeepsSnappyOnlyWhereItSavesASixteenth) {
  EXPECT_EQ(encode_records({prose(4096, 1)}, Codec::none).codec, Codec::none);
  EXPECT_EQ(encode_records({prose(4096, 1)}, Codec::snappy).codec, Codec::snappy);
  EXPECT_EQ(encode_records({noise(4096, 1)}, Codec::snappy).codec, Codec::none);
  EXPECT_EQ(encode_records({""}, Codec::snappy).codec, Codec::none);
  EXPECT_EQ(encode_records({"a"}, Codec::snappy).codec, Codec::none);
  // From noise to zeros: somewhere Snappy begins to pay, and exactly there it must begin to be
  // kept.
  bool kept_before = false;
  for (std::size_t zeros = 0; zeros < 1024; ++zeros) {
    const std::string text = noise(4096 - zeros, 2) + std::string(zeros, '\0');
    std::string compressed;
    const std::size_t stored = snappy::Compress(text.data(), text.size(), &compressed);
    const bool pays = text.size() - std::min(stored, text.size()) >= text.size() / 16;
    ASSERT_EQ(encode_records({text}, Codec::snappy).codec == Codec::snappy, pays) << zeros;
    kept_before |= pays;
  }
  EXPECT_TRUE(kept_before);
}

TEST(BlockEncoderTest, NeverCompressesAboveWhatReadersMayHaveToDecode) {
  const EncodedBlock block = encode_records({std::string(kMaxCompressedRawBytes + 1, 'x')}, Codec::snappy);
  EXPECT_EQ(block.codec, Codec::none);
  EXPECT_EQ(block.stored_bytes(), kMaxCompressedRawBytes + 1);
  EXPECT_EQ(decode(header_of(block), block.body).value().front().size(), kMaxCompressedRawBytes + 1);
}

TEST(BlockEncoderTest, GivesTheSameBytesIntoUsedMemory) {
  EncodedBlock used = encode_records({prose(9000, 1), noise(100, 2)}, Codec::snappy);
  RawBlock raw;
  raw.append(as_bytes("abc"));
  raw.append(as_bytes("de"));
  encode_block(raw, Codec::none, used);
  const EncodedBlock fresh = encode_records({"abc", "de"}, Codec::none);
  EXPECT_EQ(used.body, fresh.body);
  EXPECT_EQ(used.codec, Codec::none);
  EXPECT_EQ(used.payload_crc, fresh.payload_crc);
  EXPECT_EQ(used.min_record_bytes, 2u);
  EXPECT_EQ(used.max_record_bytes, 3u);
}

TEST(BlockDecoderTest, LeavesStoredRecordsWhereTheyAre) {
  const EncodedBlock block = encode_records({"abc", "de"}, Codec::none);
  const auto records = decode_block(header_of(block), block.body, {});
  ASSERT_TRUE(records);
  EXPECT_EQ((*records)[1].data(), block.body.data() + block.table_bytes + 3);
}

TEST(BlockDecoderTest, RefusesTooLittleRoom) {
  const EncodedBlock block = encode_records({prose(4096, 1)}, Codec::snappy);
  Bytes out(4095);
  EXPECT_THAT(decode_block(header_of(block), block.body, out), test::Fails(Errc::bad_length));
}

TEST(BlockDecoderTest, RefusesABodyOfAnotherSize) {
  const EncodedBlock block = encode_records({"abc", "de"}, Codec::none);
  EXPECT_THAT(decode(header_of(block), ByteView(block.body).first(block.body.size() - 1)),
              test::Fails(Errc::bad_length));
}

TEST(BlockDecoderTest, FailsWithAnyBitFlipped) {
  for (const Codec codec : {Codec::none, Codec::snappy, Codec::zstd}) {
    EncodedBlock block = encode_records({prose(150, 1), prose(90, 2)}, codec);
    const BlockHeader header = header_of(block);
    for (std::size_t bit = 0; bit < 8 * block.body.size(); ++bit) {
      block.body[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_THAT(decode(header, block.body), test::Fails(Errc::payload_checksum)) << "bit " << bit;
      block.body[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

/// A block whose checksum is good and whose bytes are not.
Error error_of_resealed(EncodedBlock block) {
  block.payload_crc = crc32c(block.body);
  const auto records = decode(header_of(block), block.body);
  return records ? Error(Errc::closed, "accepted") : records.error();
}

TEST(BlockDecoderTest, RefusesTablesThatFallOrMissTheEnd) {
  const EncodedBlock good = encode_records({"abc", "de", "f"}, Codec::none);
  const std::uint32_t tables[][3] = {{3, 2, 6}, {3, 5, 5},           {3, 5, 7},
                                     {7, 7, 6}, {0xFFFFFFFFu, 5, 6}, {3, 0xFFFFFFFFu, 6}};
  for (const auto& table : tables) {
    EncodedBlock bad = good;
    for (std::size_t i = 0; i < 3; ++i) store_le(bad.body.data() + 4 * i, table[i]);
    EXPECT_TRUE(error_of_resealed(bad).is(Errc::bad_length)) << error_of_resealed(bad).to_string();
  }
}

TEST(BlockEncoderTest, KeepsZstdOnlyWhereItSavesASixteenthAtAnyLevel) {
  const auto encode = [](const std::string& record, std::uint32_t level) {
    RawBlock raw;
    raw.append(as_bytes(record));
    EncodedBlock block;
    encode_block(raw, Codec::zstd, block, level);
    return block;
  };
  for (const std::uint32_t level : {1u, 3u, 19u}) {
    const std::string text = prose(60'000, 1);
    const EncodedBlock block = encode(text, level);
    EXPECT_EQ(block.codec, Codec::zstd);
    EXPECT_EQ(round_trip(block), Records{text});
    EXPECT_EQ(encode(noise(4096, 1), level).codec, Codec::none);
    EXPECT_EQ(encode("", level).codec, Codec::none);
  }
  EXPECT_LT(encode(prose(60'000, 1), 19).stored_bytes(), encode(prose(60'000, 1), 1).stored_bytes());
}

TEST(BlockDecoderTest, RefusesZstdThatIsNotOneFrameOfTheRightSize) {
  const std::string text = prose(300, 1);
  const EncodedBlock good = encode_records({text}, Codec::zstd);
  const auto frame_of = [](const std::string& content, auto set) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    set(context.get());
    Bytes frame(ZSTD_compressBound(content.size()));
    const std::size_t bytes = ZSTD_compress2(context.get(), frame.data(), frame.size(), content.data(), content.size());
    EXPECT_EQ(ZSTD_isError(bytes), 0u);
    frame.resize(bytes);
    return frame;
  };
  const auto plain = [](ZSTD_CCtx*) {};
  const Bytes skippable{std::byte{0x50}, std::byte{0x2A}, std::byte{0x4D}, std::byte{0x18},
                        std::byte{0},    std::byte{0},    std::byte{0},    std::byte{0}};
  Bytes two = frame_of(text.substr(0, 150), plain);
  const Bytes second = frame_of(text.substr(150), plain);
  two.insert(two.end(), second.begin(), second.end());
  Bytes followed = good.body;
  followed.insert(followed.end(), skippable.begin(), skippable.end());
  Bytes cut = good.body;
  cut.pop_back();
  Bytes damaged = good.body;
  damaged[damaged.size() / 2] ^= std::byte{0x55};
  const std::string dictionary = prose(2000, 9);
  Bytes legacy;  // of version 0.7: one byte, repeated 255 and 45 times
  for (const int byte : {0x27, 0xB5, 0x2F, 0xFD, 0x60, 0x2C, 0, 0x80, 0, 0xFF, 0x78, 0x80, 0, 0x2D, 0x78, 0xC0, 0, 0}) {
    legacy.push_back(static_cast<std::byte>(byte));
  }
  const struct {
    const char* what;
    Bytes body;
  } cases[] = {
      {"another size", frame_of(text + "x", plain)},
      {"no size", frame_of(text, [](ZSTD_CCtx* c) { ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0); })},
      {"a dictionary",
       frame_of(text, [&](ZSTD_CCtx* c) { ZSTD_CCtx_loadDictionary(c, dictionary.data(), dictionary.size()); })},
      {"two frames", two},
      {"a skippable frame behind", followed},
      {"cut", cut},
      {"damaged", damaged},
      {"a frame of an older format", legacy},
      {"Snappy", encode_records({text}, Codec::snappy).body},
      {"nothing", {}},
  };
  for (const auto& tried : cases) {
    EncodedBlock block = good;
    block.body = tried.body;
    const Error error = error_of_resealed(block);
    EXPECT_TRUE(error.is(Errc::decompression) || tried.body.empty()) << tried.what << ": " << error.to_string();
    EXPECT_FALSE(error.is(Errc::closed)) << tried.what << " was accepted";
  }
}

TEST(BlockDecoderTest, RefusesSnappyThatPromisesAnotherLength) {
  const EncodedBlock good = encode_records({prose(300, 1)}, Codec::snappy);
  ASSERT_EQ(good.codec, Codec::snappy);
  for (const std::uint32_t raw : {299u, 301u, good.stored_bytes() + 1, 22 * good.stored_bytes() + 64}) {
    EncodedBlock bad = good;
    bad.raw_bytes = raw;
    EXPECT_TRUE(error_of_resealed(bad).is(Errc::decompression));
  }
  EncodedBlock bad = good;
  bad.raw_bytes = 22 * good.stored_bytes() + 65;
  EXPECT_TRUE(error_of_resealed(bad).is(Errc::bad_length));
}

TEST(BlockDecoderTest, RefusesSnappyThatBreaksOff) {
  const EncodedBlock good = encode_records({prose(300, 1)}, Codec::snappy);
  for (std::size_t size = 14; size < good.body.size(); ++size) {
    EncodedBlock bad = good;
    bad.body.resize(size);
    EXPECT_TRUE(error_of_resealed(bad).is(Errc::decompression)) << size;
  }
}

TEST(BlockDecoderTest, SurvivesAnyCompressedBytes) {
  test::Draws draws(42);
  const EncodedBlock good = encode_records({prose(400, 1), prose(200, 2)}, Codec::snappy);
  for (int round = 0; round < 20000; ++round) {
    EncodedBlock bad = good;
    for (std::uint64_t change = draws.below(4) + 1; change > 0; --change) {
      bad.body[draws.below(bad.body.size())] = static_cast<std::byte>(draws.below(256));
    }
    bad.payload_crc = crc32c(bad.body);
    const auto records = decode(header_of(bad), bad.body);
    if (!records) continue;
    std::size_t total = 0;
    for (const std::string& record : *records) total += record.size();
    ASSERT_EQ(total, bad.raw_bytes);
  }
}

TEST(BlockHeaderCheckTest, NamesTheFieldThatDiffers) {
  BlockHeader header = header_of(encode_records({"abc", "de"}, Codec::none));
  header.offset = 256;
  header.sequence = 2;
  header.first_record = 10;
  header.file_id = 99;
  const IndexEntry entry{256, 2, 5, 5, 8, header.payload_crc, Codec::none};
  ASSERT_TRUE(check_block_header(header, entry, 99, 2, 10));

  const struct {
    Errc code;
    const char* field;
    void (*change)(BlockHeader&);
  } cases[] = {
      {Errc::misplaced_block, "type", [](BlockHeader& h) { h.type = BlockType::index; }},
      {Errc::misplaced_block, "file id", [](BlockHeader& h) { h.file_id ^= 1; }},
      {Errc::misplaced_block, "offset", [](BlockHeader& h) { h.offset += 64; }},
      {Errc::misplaced_block, "sequence", [](BlockHeader& h) { h.sequence += 1; }},
      {Errc::misplaced_block, "first record", [](BlockHeader& h) { h.first_record += 1; }},
      {Errc::index_mismatch, "record count", [](BlockHeader& h) { h.records += 1; }},
      {Errc::index_mismatch, "stored size", [](BlockHeader& h) { h.stored_bytes += 1; }},
      {Errc::index_mismatch, "raw size", [](BlockHeader& h) { h.raw_bytes += 1; }},
      {Errc::index_mismatch, "table size", [](BlockHeader& h) { h.table_bytes += 4; }},
      {Errc::index_mismatch, "codec", [](BlockHeader& h) { h.codec = Codec::snappy; }},
      {Errc::index_mismatch, "CRC", [](BlockHeader& h) { h.payload_crc ^= 1; }},
  };
  for (const auto& c : cases) {
    BlockHeader changed = header;
    c.change(changed);
    EXPECT_THAT(check_block_header(changed, entry, 99, 2, 10), test::Fails(c.code).saying(c.field)) << c.field;
  }
}

}  // namespace
}  // namespace dovetail::format
