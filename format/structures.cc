// SPDX-License-Identifier: Apache-2.0
#include "format/structures.h"

#include <algorithm>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/try.h"
#include "format/words/convert_words.h"

namespace dovetail {

std::string_view to_string(Codec codec) noexcept {
  return format::word_of(format::kCodecWords, codec);
}

}  // namespace dovetail

namespace dovetail::format {
namespace {

template <std::size_t N>
bool begins_with(ByteView bytes, const std::array<std::uint8_t, N>& magic) noexcept {
  return std::memcmp(bytes.data(), magic.data(), N) == 0;
}

bool all_zero(ByteView bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

template <std::size_t N>
void put_crc(std::span<std::byte, N> structure, std::size_t at) noexcept {
  store_le(structure.data() + at, crc32c(structure.first(at)));
}

template <std::size_t N>
bool crc_holds(std::span<const std::byte, N> structure, std::size_t at) noexcept {
  return load_le<std::uint32_t>(structure.data() + at) == crc32c(structure.first(at));
}

Error reserved_in_use(const char* structure) {
  return Error(Errc::unsupported_version, std::string("reserved bytes of the ") + structure + " are in use");
}

Error bad_length(std::string detail) {
  return Error(Errc::bad_length, std::move(detail));
}

std::string exceeds(const std::string& what, std::uint64_t value, std::uint64_t limit) {
  return what + " is " + std::to_string(value) + ", the limit is " + std::to_string(limit);
}

Result<void> check_place(std::uint64_t offset, std::uint64_t span_bytes) {
  if (offset % kAlignment != 0) return bad_length("offset " + std::to_string(offset) + " is not a multiple of 64");
  if (offset > kMaxFileBytes - span_bytes) return bad_length("offset " + std::to_string(offset) + " is out of range");
  return {};
}

bool known_type(std::uint8_t type) noexcept {
  return type >= static_cast<std::uint8_t>(BlockType::metadata) && type <= static_cast<std::uint8_t>(BlockType::footer);
}

bool known_codec(std::uint8_t codec) noexcept {
  return codec <= static_cast<std::uint8_t>(Codec::zstd);
}

Result<void> check_data_counts(std::uint32_t records, std::uint32_t raw_bytes, std::uint32_t table_bytes) {
  if (records == 0) return bad_length("a data block without records");
  if (records > kMaxBlockRecords) return bad_length(exceeds("the record count", records, kMaxBlockRecords));
  if (records > 1 && raw_bytes > kMaxSharedBlockBytes) {
    return bad_length(exceeds("the size of the records of a block", raw_bytes, kMaxSharedBlockBytes));
  }
  // A single record always has "one size", so a table would be wrong for it.
  const bool table_fits = table_bytes == 0 || (records > 1 && table_bytes == records * kTableEntryBytes);
  if (!table_fits) {
    return bad_length("a table of " + std::to_string(table_bytes) + " bytes for " + std::to_string(records) +
                      " records");
  }
  if (table_bytes == 0 && raw_bytes % records != 0) {
    return bad_length(std::to_string(raw_bytes) + " bytes do not make " + std::to_string(records) +
                      " records of one size");
  }
  return {};
}

Result<void> check_codec_lengths(Codec codec, std::uint32_t stored_bytes, std::uint32_t raw_bytes) {
  const auto contradiction = [&](const char* what) {
    return bad_length(std::to_string(stored_bytes) + " stored and " + std::to_string(raw_bytes) + " raw bytes " + what);
  };
  if (codec == Codec::none) {
    if (stored_bytes != raw_bytes) return contradiction("in a block that is not compressed");
    return {};
  }
  if (raw_bytes > kMaxCompressedRawBytes) {
    return bad_length(exceeds("the size of a compressed block", raw_bytes, kMaxCompressedRawBytes));
  }
  const std::uint64_t most = codec == Codec::snappy ? kMaxSnappyExpansion * stored_bytes + kSnappySlackBytes
                                                    : kMaxZstdExpansion * stored_bytes;
  if (stored_bytes >= raw_bytes || raw_bytes > most) {
    return contradiction(codec == Codec::snappy ? "cannot be Snappy" : "cannot be zstd");
  }
  return {};
}

Result<void> check_message_lengths(const char* what, std::uint32_t limit, Codec codec, std::uint32_t stored_bytes,
                                   std::uint32_t raw_bytes) {
  if (codec != Codec::none) return Error(Errc::unsupported_version, std::string("a compressed ") + what + " block");
  if (stored_bytes != raw_bytes) return bad_length(std::string("stored and raw size of the ") + what + " block differ");
  if (stored_bytes > limit) {
    return bad_length(exceeds(std::string("the size of the ") + what + " block", stored_bytes, limit));
  }
  return {};
}

}  // namespace

std::uint64_t make_file_id(const DatasetId& dataset_id, std::uint32_t shard_number) noexcept {
  return std::uint64_t{crc32c(std::as_bytes(std::span(dataset_id.bytes)))} << 32 | shard_number;
}

void encode(const FileHeader& header, std::span<std::byte, kFileHeaderBytes> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  std::byte* const p = out.data();
  std::memcpy(p + file_header::kMagic, kFileMagic.data(), kFileMagic.size());
  store_le(p + file_header::kMajor, header.major);
  store_le(p + file_header::kMinor, header.minor);
  store_le(p + file_header::kShardNumber, header.shard_number);
  std::memcpy(p + file_header::kDatasetId, header.dataset_id.bytes.data(), header.dataset_id.bytes.size());
  store_le(p + file_header::kMustUnderstand, header.must_understand);
  store_le(p + file_header::kMayIgnore, header.may_ignore);
  put_crc(out, file_header::kCrc);
}

Result<FileHeader> decode_file_header(std::span<const std::byte, kFileHeaderBytes> in) {
  const std::byte* const p = in.data();
  if (!begins_with(in, kFileMagic)) return Error(Errc::not_dovetail, "no file header");
  if (!crc_holds(in, file_header::kCrc)) return Error(Errc::header_checksum, "file header");
  FileHeader header;
  header.major = load_le<std::uint16_t>(p + file_header::kMajor);
  header.minor = load_le<std::uint16_t>(p + file_header::kMinor);
  header.shard_number = load_le<std::uint32_t>(p + file_header::kShardNumber);
  std::memcpy(header.dataset_id.bytes.data(), p + file_header::kDatasetId, header.dataset_id.bytes.size());
  header.must_understand = load_le<std::uint64_t>(p + file_header::kMustUnderstand);
  header.may_ignore = load_le<std::uint64_t>(p + file_header::kMayIgnore);
  if (header.major != kVersionMajor) {
    return Error(Errc::unsupported_version, "the file has version " + std::to_string(header.major) + "." +
                                                std::to_string(header.minor) + ", but this library reads version " +
                                                std::to_string(kVersionMajor));
  }
  if (header.must_understand != 0) {
    return Error(Errc::unsupported_version,
                 "the file needs features that this library does not know: " + std::to_string(header.must_understand));
  }
  if (!all_zero(in.subspan(file_header::kReserved, file_header::kCrc - file_header::kReserved))) {
    return reserved_in_use("file header");
  }
  return header;
}

void encode(const BlockHeader& header, std::span<std::byte, kBlockHeaderBytes> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  std::byte* const p = out.data();
  store_le(p + block_header::kSync, kBlockSync);
  store_le(p + block_header::kType, static_cast<std::uint8_t>(header.type));
  store_le(p + block_header::kCodec, static_cast<std::uint8_t>(header.codec));
  store_le(p + block_header::kOffset, header.offset);
  store_le(p + block_header::kFirstRecord, header.first_record);
  store_le(p + block_header::kSequence, header.sequence);
  store_le(p + block_header::kRecords, header.records);
  store_le(p + block_header::kStoredBytes, header.stored_bytes);
  store_le(p + block_header::kRawBytes, header.raw_bytes);
  store_le(p + block_header::kTableBytes, header.table_bytes);
  store_le(p + block_header::kPayloadCrc, header.payload_crc);
  store_le(p + block_header::kFileId, header.file_id);
  put_crc(out, block_header::kCrc);
}

Result<BlockHeader> decode_block_header(std::span<const std::byte, kBlockHeaderBytes> in) {
  const std::byte* const p = in.data();
  if (load_le<std::uint32_t>(p + block_header::kSync) != kBlockSync) {
    return Error(Errc::header_checksum, "no block header");
  }
  if (!crc_holds(in, block_header::kCrc)) return Error(Errc::header_checksum, "block header");

  const auto type = load_le<std::uint8_t>(p + block_header::kType);
  const auto codec = load_le<std::uint8_t>(p + block_header::kCodec);
  BlockHeader header;
  header.type = static_cast<BlockType>(type);
  header.codec = static_cast<Codec>(codec);
  const bool skippable = is_skippable(header.type);
  if (!skippable && !known_type(type)) {
    return Error(Errc::unsupported_version, "unknown block type " + std::to_string(type));
  }
  if (!skippable && !known_codec(codec)) {
    return Error(Errc::unsupported_version, "unknown codec " + std::to_string(codec));
  }
  if (load_le<std::uint16_t>(p + block_header::kReserved) != 0 ||
      load_le<std::uint32_t>(p + block_header::kReserved2) != 0) {
    return reserved_in_use("block header");
  }
  header.offset = load_le<std::uint64_t>(p + block_header::kOffset);
  header.first_record = load_le<std::uint64_t>(p + block_header::kFirstRecord);
  header.sequence = load_le<std::uint32_t>(p + block_header::kSequence);
  header.records = load_le<std::uint32_t>(p + block_header::kRecords);
  header.stored_bytes = load_le<std::uint32_t>(p + block_header::kStoredBytes);
  header.raw_bytes = load_le<std::uint32_t>(p + block_header::kRawBytes);
  header.table_bytes = load_le<std::uint32_t>(p + block_header::kTableBytes);
  header.payload_crc = load_le<std::uint32_t>(p + block_header::kPayloadCrc);
  header.file_id = load_le<std::uint64_t>(p + block_header::kFileId);

  DOVETAIL_TRY(check_place(header.offset, header.span_bytes()));
  if (header.first_record > kMaxShardRecords) {
    return bad_length(exceeds("the first record", header.first_record, kMaxShardRecords));
  }
  DOVETAIL_TRY(check_block_lengths(header.type, header.codec, header.records, header.stored_bytes, header.raw_bytes,
                                   header.table_bytes));
  return header;
}

void encode(const IndexEntry& entry, std::span<std::byte, kIndexEntryBytes> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  std::byte* const p = out.data();
  store_le(p + index_entry::kOffset, entry.offset);
  store_le(p + index_entry::kRecords, entry.records);
  store_le(p + index_entry::kStoredBytes, entry.stored_bytes);
  store_le(p + index_entry::kRawBytes, entry.raw_bytes);
  store_le(p + index_entry::kTableBytes, entry.table_bytes);
  store_le(p + index_entry::kPayloadCrc, entry.payload_crc);
  store_le(p + index_entry::kCodec, static_cast<std::uint8_t>(entry.codec));
}

Result<IndexEntry> decode_index_entry(std::span<const std::byte, kIndexEntryBytes> in) {
  const std::byte* const p = in.data();
  const auto codec = load_le<std::uint8_t>(p + index_entry::kCodec);
  if (!known_codec(codec)) return Error(Errc::unsupported_version, "unknown codec " + std::to_string(codec));
  if (!all_zero(in.subspan(index_entry::kReserved))) return reserved_in_use("index entry");
  IndexEntry entry;
  entry.offset = load_le<std::uint64_t>(p + index_entry::kOffset);
  entry.records = load_le<std::uint32_t>(p + index_entry::kRecords);
  entry.stored_bytes = load_le<std::uint32_t>(p + index_entry::kStoredBytes);
  entry.raw_bytes = load_le<std::uint32_t>(p + index_entry::kRawBytes);
  entry.table_bytes = load_le<std::uint32_t>(p + index_entry::kTableBytes);
  entry.payload_crc = load_le<std::uint32_t>(p + index_entry::kPayloadCrc);
  entry.codec = static_cast<Codec>(codec);
  DOVETAIL_TRY(check_place(entry.offset, entry.span_bytes()));
  DOVETAIL_TRY(check_block_lengths(BlockType::data, entry.codec, entry.records, entry.stored_bytes, entry.raw_bytes,
                                   entry.table_bytes));
  return entry;
}

void encode(const Trailer& trailer, std::span<std::byte, kTrailerBytes> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  std::byte* const p = out.data();
  std::memcpy(p + trailer::kMagic, kTrailerMagic.data(), kTrailerMagic.size());
  store_le(p + trailer::kFileBytes, trailer.file_bytes);
  store_le(p + trailer::kFooterOffset, trailer.footer_offset);
  store_le(p + trailer::kRecords, trailer.records);
  store_le(p + trailer::kBlocks, trailer.blocks);
  store_le(p + trailer::kFileId, trailer.file_id);
  put_crc(out, trailer::kCrc);
}

Result<Trailer> decode_trailer(std::span<const std::byte, kTrailerBytes> in) {
  const std::byte* const p = in.data();
  if (!begins_with(in, kTrailerMagic)) return Error(Errc::unfinished, "no trailer at the end");
  if (!crc_holds(in, trailer::kCrc)) return Error(Errc::unfinished, "the trailer fails its checksum");
  if (!all_zero(in.subspan(trailer::kReserved, trailer::kCrc - trailer::kReserved))) return reserved_in_use("trailer");
  Trailer trailer;
  trailer.file_bytes = load_le<std::uint64_t>(p + trailer::kFileBytes);
  trailer.footer_offset = load_le<std::uint64_t>(p + trailer::kFooterOffset);
  trailer.records = load_le<std::uint64_t>(p + trailer::kRecords);
  trailer.blocks = load_le<std::uint64_t>(p + trailer::kBlocks);
  trailer.file_id = load_le<std::uint64_t>(p + trailer::kFileId);

  DOVETAIL_TRY(check_place(trailer.file_bytes, 0));
  DOVETAIL_TRY(check_place(trailer.footer_offset, kBlockHeaderBytes + kTrailerBytes));
  if (trailer.footer_offset + kBlockHeaderBytes + kTrailerBytes > trailer.file_bytes) {
    return bad_length("the footer at " + std::to_string(trailer.footer_offset) + " begins beyond the end of the file");
  }
  if (trailer.blocks > kMaxShardBlocks) return bad_length(exceeds("the block count", trailer.blocks, kMaxShardBlocks));
  if (trailer.records > trailer.blocks * kMaxBlockRecords || trailer.records < trailer.blocks) {
    return bad_length(std::to_string(trailer.records) + " records in " + std::to_string(trailer.blocks) + " blocks");
  }
  return trailer;
}

Result<void> check_block_lengths(BlockType type, Codec codec, std::uint32_t records, std::uint32_t stored_bytes,
                                 std::uint32_t raw_bytes, std::uint32_t table_bytes) {
  if (type == BlockType::data) {
    DOVETAIL_TRY(check_data_counts(records, raw_bytes, table_bytes));
    return check_codec_lengths(codec, stored_bytes, raw_bytes);
  }
  if (records != 0 || table_bytes != 0) return bad_length("records or a table in a block that is not data");
  switch (type) {
    case BlockType::metadata:
      return check_message_lengths("metadata", kMaxMetadataBytes, codec, stored_bytes, raw_bytes);
    case BlockType::footer:
      return check_message_lengths("footer", kMaxFooterBytes, codec, stored_bytes, raw_bytes);
    case BlockType::index:
      if (stored_bytes % kIndexEntryBytes != 0) {
        return bad_length("an index of " + std::to_string(stored_bytes) + " bytes");
      }
      return check_message_lengths("index", kMaxIndexBytes, codec, stored_bytes, raw_bytes);
    default:
      return {};
  }
}

}  // namespace dovetail::format
