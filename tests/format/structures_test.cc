// SPDX-License-Identifier: Apache-2.0
#include "format/structures.h"

#include <array>
#include <functional>
#include <string>
#include <type_traits>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "tests/support/fails.h"
#include "tests/support/sample_shards.h"

namespace dovetail::format {
namespace {

constexpr std::uint32_t kMax32 = 0xFFFFFFFFu;

FileHeader sample_file_header() {
  FileHeader header;
  header.shard_number = 7;
  header.dataset_id = test::sample_dataset_id();
  header.may_ignore = 0x8000000000000001u;
  return header;
}

BlockHeader sample_block_header() {
  BlockHeader header;
  header.codec = Codec::snappy;
  header.offset = 0x40;
  header.first_record = 11;
  header.sequence = 3;
  header.records = 4;
  header.stored_bytes = 90;
  header.raw_bytes = 200;
  header.table_bytes = 16;
  header.payload_crc = 0xDEADBEEF;
  header.file_id = 0x0123456789ABCDEFull;
  return header;
}

Trailer sample_trailer() {
  Trailer trailer;
  trailer.file_bytes = 640;
  trailer.footer_offset = 448;
  trailer.records = 5;
  trailer.blocks = 2;
  trailer.file_id = 0x0123456789ABCDEFull;
  return trailer;
}

IndexEntry sample_index_entry() {
  return {128, 4, 90, 200, 16, 0xDEADBEEF, Codec::snappy};
}

using Structure = std::array<std::byte, 64>;

template <class T>
Structure encoded(const T& value) {
  Structure bytes;
  encode(value, bytes);
  return bytes;
}

/// Changes a field and makes the checksum good again.
template <class T>
Structure resealed(const T& value, std::size_t at, const auto& field) {
  Structure bytes = encoded(value);
  store_le(bytes.data() + at, field);
  store_le(bytes.data() + 60, crc32c(std::span(bytes).first(60)));
  return bytes;
}

#define EXPECT_CODE(result, errc)                                                \
  do {                                                                           \
    const auto& outcome = (result);                                              \
    ASSERT_THAT(outcome, test::Fails(errc));                                     \
    EXPECT_FALSE(outcome.error().detail().empty()) << "an error without detail"; \
  } while (false)

template <class Decode>
void expect_every_flipped_bit_fails(const Structure& good, Decode decode) {
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Structure bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_FALSE(decode(bad)) << "bit " << bit;
  }
}

TEST(FileHeaderTest, DecodesToWhatWasEncoded) {
  const FileHeader header = sample_file_header();
  EXPECT_EQ(decode_file_header(encoded(header)).value(), header);
}

TEST(FileHeaderTest, FailsWithAnyBitFlipped) {
  expect_every_flipped_bit_fails(encoded(sample_file_header()), decode_file_header);
}

TEST(FileHeaderTest, TellsForeignFilesFromDamagedAndFromNewerOnes) {
  const FileHeader header = sample_file_header();
  EXPECT_CODE(decode_file_header(Structure{}), Errc::not_dovetail);
  Structure damaged = encoded(header);
  damaged[20] ^= std::byte{1};
  EXPECT_CODE(decode_file_header(damaged), Errc::header_checksum);
  EXPECT_CODE(decode_file_header(resealed(header, file_header::kMajor, std::uint16_t{2})), Errc::unsupported_version);
  EXPECT_CODE(decode_file_header(resealed(header, file_header::kMajor, std::uint16_t{0})), Errc::unsupported_version);
  EXPECT_CODE(decode_file_header(resealed(header, file_header::kMustUnderstand, std::uint64_t{1})),
              Errc::unsupported_version);
  EXPECT_CODE(decode_file_header(resealed(header, file_header::kReserved, std::uint8_t{1})), Errc::unsupported_version);
}

TEST(FileHeaderTest, AcceptsNewerMinorVersionsAndOptionalFeatures) {
  FileHeader header = sample_file_header();
  header.minor = 9;
  header.may_ignore = ~0ull;
  EXPECT_EQ(decode_file_header(encoded(header)).value(), header);
}

TEST(FileIdTest, HoldsTheChecksumOfTheDatasetAndTheShardNumber) {
  const DatasetId id = test::sample_dataset_id();
  const std::uint64_t file_id = make_file_id(id, 7);
  EXPECT_EQ(file_id & kMax32, 7u);
  EXPECT_EQ(file_id >> 32, crc32c(std::as_bytes(std::span(id.bytes))));
}

TEST(BlockHeaderTest, DecodesToWhatWasEncoded) {
  const BlockHeader header = sample_block_header();
  EXPECT_EQ(decode_block_header(encoded(header)).value(), header);
}

TEST(BlockHeaderTest, FailsWithAnyBitFlipped) {
  expect_every_flipped_bit_fails(encoded(sample_block_header()), decode_block_header);
}

TEST(BlockHeaderTest, RefusesWhatItDoesNotKnow) {
  const BlockHeader header = sample_block_header();
  EXPECT_CODE(decode_block_header(Structure{}), Errc::header_checksum);
  EXPECT_CODE(decode_block_header(resealed(header, block_header::kSync, std::uint32_t{0})), Errc::header_checksum);
  for (const int type : {0, 5, 0x7F}) {
    EXPECT_CODE(decode_block_header(resealed(header, block_header::kType, static_cast<std::uint8_t>(type))),
                Errc::unsupported_version);
  }
  EXPECT_CODE(decode_block_header(resealed(header, block_header::kCodec, std::uint8_t{3})), Errc::unsupported_version);
  EXPECT_CODE(decode_block_header(resealed(header, block_header::kReserved, std::uint16_t{1})),
              Errc::unsupported_version);
  EXPECT_CODE(decode_block_header(resealed(header, block_header::kReserved2, std::uint32_t{1})),
              Errc::unsupported_version);
}

TEST(BlockHeaderTest, ReturnsSkippableTypesWithAnyCodec) {
  BlockHeader header = sample_block_header();
  header.type = static_cast<BlockType>(kFirstSkippableType);
  header.codec = static_cast<Codec>(200);
  header.records = 0;
  header.table_bytes = 0;
  EXPECT_EQ(decode_block_header(encoded(header)).value(), header);
  EXPECT_TRUE(is_skippable(header.type));
  EXPECT_FALSE(is_skippable(BlockType::footer));
}

TEST(BlockHeaderTest, RefusesPlacesThatCannotBe) {
  const BlockHeader header = sample_block_header();
  for (const std::uint64_t offset : {std::uint64_t{65}, kMaxFileBytes, kMaxFileBytes - 127, ~std::uint64_t{63}}) {
    EXPECT_CODE(decode_block_header(resealed(header, block_header::kOffset, offset)), Errc::bad_length);
  }
  EXPECT_CODE(decode_block_header(resealed(header, block_header::kFirstRecord, kMaxShardRecords + 1)),
              Errc::bad_length);
}

TEST(IndexEntryTest, DecodesToWhatWasEncoded) {
  const IndexEntry entry = sample_index_entry();
  std::array<std::byte, kIndexEntryBytes> bytes;
  encode(entry, bytes);
  EXPECT_EQ(decode_index_entry(bytes).value(), entry);
  EXPECT_EQ(entry.span_bytes(), sample_block_header().span_bytes());
}

TEST(IndexEntryTest, RefusesUnknownCodecsReservedBytesAndImpossiblePlaces) {
  std::array<std::byte, kIndexEntryBytes> good;
  encode(sample_index_entry(), good);
  auto bytes = good;
  bytes[index_entry::kCodec] = std::byte{3};
  EXPECT_CODE(decode_index_entry(bytes), Errc::unsupported_version);
  bytes = good;
  bytes[index_entry::kReserved + 2] = std::byte{1};
  EXPECT_CODE(decode_index_entry(bytes), Errc::unsupported_version);
  bytes = good;
  store_le(bytes.data() + index_entry::kOffset, kMaxFileBytes - 63);
  EXPECT_CODE(decode_index_entry(bytes), Errc::bad_length);
  bytes = good;
  store_le(bytes.data() + index_entry::kRecords, std::uint32_t{0});
  EXPECT_CODE(decode_index_entry(bytes), Errc::bad_length);
}

TEST(TrailerTest, DecodesToWhatWasEncoded) {
  const Trailer trailer = sample_trailer();
  EXPECT_EQ(decode_trailer(encoded(trailer)).value(), trailer);
}

TEST(TrailerTest, FailsWithAnyBitFlipped) {
  expect_every_flipped_bit_fails(encoded(sample_trailer()), decode_trailer);
}

TEST(TrailerTest, TakesAnythingElseForAnUnfinishedFile) {
  EXPECT_CODE(decode_trailer(Structure{}), Errc::unfinished);
  EXPECT_CODE(decode_trailer(encoded(sample_block_header())), Errc::unfinished);
}

TEST(TrailerTest, RefusesNumbersThatContradictEachOther) {
  const struct {
    std::size_t at;
    std::uint64_t value;
  } cases[] = {
      {trailer::kFileBytes, 641},
      {trailer::kFileBytes, ~0ull},
      {trailer::kFooterOffset, 449},
      {trailer::kFooterOffset, 576},
      {trailer::kFooterOffset, ~std::uint64_t{63}},
      {trailer::kRecords, 1},
      {trailer::kRecords, 2 * std::uint64_t{kMaxBlockRecords} + 1},
      {trailer::kRecords, ~0ull},
      {trailer::kBlocks, 0},
      {trailer::kBlocks, 6},
      {trailer::kBlocks, std::uint64_t{kMaxShardBlocks} + 1},
      {trailer::kBlocks, ~0ull},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::to_string(c.at) + ": " + std::to_string(c.value));
    EXPECT_CODE(decode_trailer(resealed(sample_trailer(), c.at, c.value)), Errc::bad_length);
  }
  EXPECT_CODE(decode_trailer(resealed(sample_trailer(), trailer::kReserved, std::uint8_t{1})),
              Errc::unsupported_version);
}

struct LengthCase {
  std::string name;
  BlockType type;
  Codec codec;
  std::uint32_t records, stored, raw, table;
  bool good;
};

void PrintTo(const LengthCase& value, std::ostream* os) {
  *os << value.name;
}

class BlockLengthTest : public ::testing::TestWithParam<LengthCase> {};

TEST_P(BlockLengthTest, IsJudgedAsDocumented) {
  const LengthCase& c = GetParam();
  const auto result = check_block_lengths(c.type, c.codec, c.records, c.stored, c.raw, c.table);
  EXPECT_EQ(result.has_value(), c.good) << (result ? "accepted" : result.error().to_string());
}

constexpr auto kData = BlockType::data;
constexpr auto kMetadata = BlockType::metadata;
constexpr auto kIndex = BlockType::index;
constexpr auto kFooter = BlockType::footer;
constexpr auto kSkippable = static_cast<BlockType>(0xFF);
constexpr auto kNone = Codec::none;
constexpr auto kSnappy = Codec::snappy;
constexpr auto kZstd = Codec::zstd;

const LengthCase kLengthCases[] = {
    {"OneEmptyRecord", kData, kNone, 1, 0, 0, 0, true},
    {"ManyEmptyRecords", kData, kNone, kMaxBlockRecords, 0, 0, 0, true},
    {"NoRecord", kData, kNone, 0, 0, 0, 0, false},
    {"TooManyRecords", kData, kNone, kMaxBlockRecords + 1, 0, 0, 0, false},
    {"LargestSingleRecord", kData, kNone, 1, kMax32, kMax32, 0, true},
    {"LargestSharedBlock", kData, kNone, 2, kMaxSharedBlockBytes, kMaxSharedBlockBytes, 8, true},
    {"SharedBlockTooLarge", kData, kNone, 2, kMaxSharedBlockBytes + 2, kMaxSharedBlockBytes + 2, 8, false},
    {"LargestTable", kData, kNone, kMaxBlockRecords, 5, 5, 4 * kMaxBlockRecords, true},
    {"TableTooShort", kData, kNone, 3, 9, 9, 8, false},
    {"TableTooLong", kData, kNone, 3, 9, 9, 16, false},
    {"TableSizeThatWraps", kData, kNone, 3, 9, 9, 0xC000000Cu, false},
    {"TableOfASingleRecord", kData, kNone, 1, 9, 9, 4, false},
    {"FixedSize", kData, kNone, 3, 9, 9, 0, true},
    {"FixedSizeWithARest", kData, kNone, 3, 10, 10, 0, false},
    {"StoredDiffersFromRaw", kData, kNone, 2, 9, 10, 0, false},
    {"Compressed", kData, kSnappy, 2, 9, 10, 0, true},
    {"CompressedToTheSameSize", kData, kSnappy, 2, 10, 10, 0, false},
    {"CompressedToMore", kData, kSnappy, 2, 12, 10, 0, false},
    {"CompressedNothing", kData, kSnappy, 1, 0, 0, 0, false},
    {"CompressedToNothing", kData, kSnappy, 1, 0, 64, 0, true},  // left to Snappy, which finds no length
    {"MostExpansion", kData, kSnappy, 1, 100, 2264, 0, true},
    {"TooMuchExpansion", kData, kSnappy, 1, 100, 2265, 0, false},
    {"LargestCompressed", kData, kSnappy, 1, 1u << 26, kMaxCompressedRawBytes, 0, false},
    {"LargestCompressedThatSaves", kData, kSnappy, 1, (1u << 26) - 1, kMaxCompressedRawBytes, 0, true},
    {"CompressedTooLarge", kData, kSnappy, 1, 1u << 26, kMaxCompressedRawBytes + 1, 0, false},
    {"ExpansionThatWraps32Bits", kData, kSnappy, 1, 0x0BA2E8BBu, kMax32, 0, false},
    {"ZstdToTheSameSize", kData, kZstd, 2, 10, 10, 0, false},
    {"ZstdMostExpansion", kData, kZstd, 1, 100, 3'276'800, 0, true},
    {"ZstdTooMuchExpansion", kData, kZstd, 1, 100, 3'276'801, 0, false},
    {"ZstdLargest", kData, kZstd, 1, (1u << 26) - 1, kMaxCompressedRawBytes, 0, true},
    {"ZstdTooLarge", kData, kZstd, 1, 1u << 26, kMaxCompressedRawBytes + 1, 0, false},
    {"EmptyMetadata", kMetadata, kNone, 0, 0, 0, 0, true},
    {"LargestMetadata", kMetadata, kNone, 0, kMaxMetadataBytes, kMaxMetadataBytes, 0, true},
    {"MetadataTooLarge", kMetadata, kNone, 0, kMaxMetadataBytes + 1, kMaxMetadataBytes + 1, 0, false},
    {"MetadataCompressed", kMetadata, kSnappy, 0, 10, 20, 0, false},
    {"MetadataWithRecords", kMetadata, kNone, 1, 10, 10, 0, false},
    {"MetadataWithTable", kMetadata, kNone, 0, 10, 10, 4, false},
    {"MetadataSizesDiffer", kMetadata, kNone, 0, 10, 11, 0, false},
    {"EmptyIndex", kIndex, kNone, 0, 0, 0, 0, true},
    {"LargestIndex", kIndex, kNone, 0, kMaxIndexBytes, kMaxIndexBytes, 0, true},
    {"IndexThatEndsInsideAnEntry", kIndex, kNone, 0, 33, 33, 0, false},
    {"LargestFooter", kFooter, kNone, 0, kMaxFooterBytes, kMaxFooterBytes, 0, true},
    {"FooterTooLarge", kFooter, kNone, 0, kMaxFooterBytes + 1, kMaxFooterBytes + 1, 0, false},
    {"SkippableOfAnySize", kSkippable, static_cast<Codec>(9), 0, kMax32, 1, 0, true},
    {"SkippableWithRecords", kSkippable, kNone, 1, 4, 4, 0, false},
};

INSTANTIATE_TEST_SUITE_P(Limits, BlockLengthTest, ::testing::ValuesIn(kLengthCases),
                         [](const auto& instance) { return instance.param.name; });

TEST(LayoutTest, StructuresFillTheirSizesAndTheFooterFitsTheTail) {
  static_assert(block_header::kCrc + 4 == kBlockHeaderBytes);
  static_assert(file_header::kCrc + 4 == kFileHeaderBytes);
  static_assert(trailer::kCrc + 4 == kTrailerBytes);
  static_assert(align_up(kBlockHeaderBytes + std::uint64_t{kMaxFooterBytes}) + kTrailerBytes == kTailBytes);
  static_assert(align_up(0) == 0 && align_up(1) == 64 && align_up(64) == 64 && align_up(65) == 128);
  // The largest block of all, so that sums of a few offsets and lengths stay below 2^64.
  BlockHeader header;
  header.stored_bytes = kMax32;
  EXPECT_EQ(header.span_bytes(), (std::uint64_t{1} << 32) + 64);
}

}  // namespace
}  // namespace dovetail::format
