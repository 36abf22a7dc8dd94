// SPDX-License-Identifier: Apache-2.0
#include "format/block_decoder.h"

#include <string>

#include "format/crc32c/crc32c.h"
#include "format/snappy_decoder.h"
#include "format/try.h"
#include "format/zstd_codec.h"

namespace dovetail::format {
namespace {

Error differs(Errc code, const char* field, std::uint64_t found, std::uint64_t expected) {
  return Error(code, std::string(field) + " is " + std::to_string(found) + ", expected " + std::to_string(expected));
}

Result<void> decode_snappy(ByteView stored, std::uint32_t raw_bytes, std::span<std::byte> out) {
  if (!snappy_decode(stored, raw_bytes, out)) return Error(Errc::decompression, "the Snappy data is damaged");
  return {};
}

// The loop has no branch, so that it runs at memory speed.
bool table_holds(const std::byte* table, std::uint32_t records, std::uint32_t raw_bytes) noexcept {
  std::uint32_t before = 0;
  bool falling = false;
  for (std::size_t i = 0; i < records; ++i) {
    const auto end = load_le<std::uint32_t>(table + i * kTableEntryBytes);
    falling |= end < before;
    before = end;
  }
  return !falling && before == raw_bytes;
}

}  // namespace

bool BlockRecords::all_have(std::uint32_t bytes) const noexcept {
  if (table_ == nullptr) return record_bytes_ == bytes;
  for (std::uint32_t i = 0; i < records_; ++i) {
    if ((*this)[i].size() != bytes) return false;
  }
  return true;
}

Result<void> check_block_header(const BlockHeader& header, const IndexEntry& expected, std::uint64_t file_id,
                                std::uint32_t sequence, std::uint64_t first_record) {
  struct Field {
    const char* name;
    std::uint64_t found;
    std::uint64_t expected;
  };
  const Field place[] = {
      {"the block type", static_cast<std::uint64_t>(header.type), static_cast<std::uint64_t>(BlockType::data)},
      {"the file id", header.file_id, file_id},
      {"the offset in the block header", header.offset, expected.offset},
      {"the sequence number", header.sequence, sequence},
      {"the first record", header.first_record, first_record},
  };
  const Field content[] = {
      {"the record count", header.records, expected.records},
      {"the stored size", header.stored_bytes, expected.stored_bytes},
      {"the raw size", header.raw_bytes, expected.raw_bytes},
      {"the table size", header.table_bytes, expected.table_bytes},
      {"the codec", static_cast<std::uint64_t>(header.codec), static_cast<std::uint64_t>(expected.codec)},
      {"the payload CRC", header.payload_crc, expected.payload_crc},
  };
  for (const Field& field : place) {
    if (field.found != field.expected) {
      return differs(Errc::misplaced_block, field.name, field.found, field.expected);
    }
  }
  for (const Field& field : content) {
    if (field.found != field.expected) return differs(Errc::index_mismatch, field.name, field.found, field.expected);
  }
  return {};
}

Result<BlockRecords> decode_block(const BlockHeader& header, ByteView body, std::span<std::byte> out) {
  // The header may come from an index or a caller. The code below relies on these lengths.
  DOVETAIL_TRY(check_block_lengths(BlockType::data, header.codec, header.records, header.stored_bytes, header.raw_bytes,
                                   header.table_bytes));
  if (body.size() != header.body_bytes()) {
    return differs(Errc::bad_length, "the size of the block's bytes", body.size(), header.body_bytes());
  }
  if (crc32c(body) != header.payload_crc) return Error(Errc::payload_checksum, "table or records");

  const ByteView stored = body.subspan(header.table_bytes);
  const std::byte* records = stored.data();
  if (header.codec != Codec::none) {
    if (out.size() < header.raw_bytes) {
      return differs(Errc::bad_length, "the size of the output", out.size(), header.raw_bytes);
    }
    DOVETAIL_TRY(header.codec == Codec::snappy ? decode_snappy(stored, header.raw_bytes, out)
                                               : decode_zstd_frame(stored, out.first(header.raw_bytes)));
    records = out.data();
  }
  if (header.table_bytes == 0) return BlockRecords(records, header.records, header.raw_bytes / header.records);
  if (!table_holds(body.data(), header.records, header.raw_bytes)) {
    return Error(Errc::bad_length, "the ends of the records fall or do not reach the end of the block");
  }
  return BlockRecords(records, body.data(), header.records);
}

}  // namespace dovetail::format
