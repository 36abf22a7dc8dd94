// SPDX-License-Identifier: Apache-2.0
#include "format/shard_encoder.h"

#include <algorithm>
#include <array>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"

namespace dovetail::format {
namespace {

/// Appends `Bytes` zero bytes and returns them for the caller to fill.
template <std::size_t Bytes>
std::span<std::byte, Bytes> extend(std::vector<std::byte>& out) {
  out.resize(out.size() + Bytes);
  return std::span<std::byte>(out).last<Bytes>();
}

BlockHeader message_header(BlockType type, ByteView body) {
  BlockHeader header;
  header.type = type;
  header.stored_bytes = static_cast<std::uint32_t>(body.size());
  header.raw_bytes = header.stored_bytes;
  header.payload_crc = crc32c(body);
  return header;
}

// Check the size before encoding: Protocol Buffers cannot serialise more than 2 GiB.
std::uint64_t text_bytes(const Metadata& metadata) noexcept {
  std::uint64_t bytes = metadata.record_type.size() + metadata.writer.size() + metadata.schema.size();
  for (const auto& [key, value] : metadata.user) bytes += key.size() + value.size();
  return bytes;
}

}  // namespace

ShardEncoder::ShardEncoder(const DatasetId& dataset_id, std::uint32_t shard_number)
    : dataset_id_(dataset_id), shard_number_(shard_number) {
  info_.file_id = make_file_id(dataset_id, shard_number);
}

Result<void> ShardEncoder::begin(const Metadata& metadata, std::vector<std::byte>& out) {
  const bool readable = text_bytes(metadata) <= kMaxMetadataBytes;
  const std::string message = readable ? encode(metadata) : std::string();
  if (!readable || message.size() > kMaxMetadataBytes) {
    return Error(Errc::invalid_option, "the metadata exceed " + std::to_string(kMaxMetadataBytes) + " bytes");
  }
  FileHeader header;
  header.shard_number = shard_number_;
  header.dataset_id = dataset_id_;
  encode(header, extend<kFileHeaderBytes>(out));
  offset_ += kFileHeaderBytes;
  put_block(message_header(BlockType::metadata, as_bytes(message)), as_bytes(message), out);
  return {};
}

Result<void> ShardEncoder::add(const EncodedBlock& block, std::vector<std::byte>& out) {
  if (info_.blocks == kMaxShardBlocks) {
    return Error(Errc::bad_length, "a shard holds at most " + std::to_string(kMaxShardBlocks) + " blocks");
  }
  BlockHeader header;
  header.type = BlockType::data;
  header.codec = block.codec;
  header.records = block.records;
  header.stored_bytes = block.stored_bytes();
  header.raw_bytes = block.raw_bytes;
  header.table_bytes = block.table_bytes;
  header.payload_crc = block.payload_crc;

  encode(IndexEntry{offset_, block.records, header.stored_bytes, block.raw_bytes, block.table_bytes, block.payload_crc,
                    block.codec},
         extend<kIndexEntryBytes>(index_));
  put_block(header, block.body, out);

  const auto stored_bytes = static_cast<std::uint32_t>(block.body.size());
  info_.min_record_bytes =
      info_.blocks == 0 ? block.min_record_bytes : std::min(info_.min_record_bytes, block.min_record_bytes);
  info_.max_record_bytes = std::max(info_.max_record_bytes, block.max_record_bytes);
  info_.max_block_raw = std::max(info_.max_block_raw, block.raw_bytes);
  info_.max_block_stored = std::max(info_.max_block_stored, stored_bytes);
  info_.max_block_records = std::max(info_.max_block_records, block.records);
  info_.records += block.records;
  info_.raw_bytes += block.raw_bytes;
  info_.stored_bytes += stored_bytes;
  ++info_.blocks;
  return {};
}

ShardInfo ShardEncoder::finish(std::uint64_t run_records, std::uint64_t fingerprint, std::vector<std::byte>& out) {
  info_.run_records = run_records;
  info_.fingerprint = fingerprint;

  const BlockHeader index = message_header(BlockType::index, index_);
  const std::string footer = encode(Footer{info_, offset_, index.payload_crc});
  put_block(index, index_, out);
  Trailer trailer;
  trailer.footer_offset = offset_;
  put_block(message_header(BlockType::footer, as_bytes(footer)), as_bytes(footer), out);

  trailer.file_bytes = offset_ + kTrailerBytes;
  trailer.records = info_.records;
  trailer.blocks = info_.blocks;
  trailer.file_id = info_.file_id;
  encode(trailer, extend<kTrailerBytes>(out));
  offset_ += kTrailerBytes;
  info_.file_bytes = offset_;
  return info_;
}

void ShardEncoder::put_block(BlockHeader header, std::span<const std::byte> body, std::vector<std::byte>& out) {
  header.offset = offset_;
  header.first_record = info_.records;
  header.sequence = sequence_++;
  header.file_id = info_.file_id;
  encode(header, extend<kBlockHeaderBytes>(out));
  out.insert(out.end(), body.begin(), body.end());
  out.resize(out.size() + (header.span_bytes() - kBlockHeaderBytes - body.size()));
  offset_ += header.span_bytes();
}

void RecordFingerprint::add(ByteView record) noexcept {
  std::array<std::byte, sizeof(std::uint32_t)> length;
  store_le(length.data(), static_cast<std::uint32_t>(record.size()));
  bytes_ = crc32c(record, bytes_);
  lengths_ = crc32c(length, lengths_);
}

}  // namespace dovetail::format
