// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/stored_block.h"

#include "format/crc32c/crc32c.h"
#include "format/tfrecord/tfrecord_block.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

Result<format::BlockHeader> checked_header(const ShardFile& shard, std::size_t block, ByteView head) {
  DOVETAIL_ASSIGN(const auto header, format::decode_block_header(head.first<format::kBlockHeaderBytes>()));
  DOVETAIL_TRY(format::check_block_header(header, shard.blocks()[block], shard.info().file_id, shard.sequence(block),
                                          shard.first_record(block)));
  return header;
}

bool of_one_size(const ShardInfo& info) noexcept {
  return info.min_record_bytes == info.max_record_bytes;
}

}  // namespace

std::uint64_t stored_bytes(const ShardFile& shard, std::size_t block) noexcept {
  const format::IndexEntry& entry = shard.blocks()[block];
  if (shard.framing() == Framing::tfrecord) return entry.stored_bytes;
  return format::kBlockHeaderBytes + std::uint64_t{entry.table_bytes} + entry.stored_bytes;
}

std::uint64_t decoded_bytes(const ShardFile& shard, std::size_t block) noexcept {
  const format::IndexEntry& entry = shard.blocks()[block];
  if (shard.framing() == Framing::tfrecord) {
    return of_one_size(shard.info()) ? 0 : std::uint64_t{entry.records} * format::kTableEntryBytes;
  }
  return entry.codec == Codec::none ? 0 : std::uint64_t{entry.raw_bytes};
}

Result<format::BlockRecords> decode_stored(const ShardFile& shard, std::size_t block, ByteView stored,
                                           std::span<std::byte> out) {
  if (shard.framing() == Framing::tfrecord) {
    return format::decode_tfrecord_block(shard.blocks()[block], stored, out.first(decoded_bytes(shard, block)));
  }
  DOVETAIL_ASSIGN(const auto header, checked_header(shard, block, stored));
  return format::decode_block(header, stored.subspan(format::kBlockHeaderBytes), out);
}

bool is_single(const ShardFile& shard, std::size_t block) noexcept {
  const format::IndexEntry& entry = shard.blocks()[block];
  if (entry.records != 1 || entry.table_bytes != 0) return false;
  return !is_encoded(shard, block) || stored_bytes(shard, block) <= entry.raw_bytes;
}

std::size_t head_bytes(const ShardFile& shard) noexcept {
  return shard.framing() == Framing::tfrecord ? format::kTfrecordHeaderBytes : format::kBlockHeaderBytes;
}

Result<void> check_single(const ShardFile& shard, std::size_t block, ByteView head, ByteView record) {
  if (shard.framing() == Framing::tfrecord) {
    return format::check_tfrecord(shard.blocks()[block], head.first<format::kTfrecordHeaderBytes>(), record);
  }
  DOVETAIL_ASSIGN(const auto header, checked_header(shard, block, head));
  if (format::crc32c(record) != header.payload_crc) return Error(Errc::payload_checksum, "the record");
  return {};
}

Result<void> decode_single(const ShardFile& shard, std::size_t block, ByteView stored, std::span<std::byte> record) {
  DOVETAIL_ASSIGN(const format::BlockRecords decoded, decode_stored(shard, block, stored, record));
  if (decoded[0].size() != record.size()) return Error(Errc::index_mismatch, "the record has another size");
  return {};
}

}  // namespace dovetail::detail
