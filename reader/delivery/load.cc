// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/load.h"

#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace dovetail::detail {

namespace {

Result<format::BlockRecords> decode(const Load& load, std::uint32_t block, std::uint64_t decoded_at) {
  const Extent& extent = load.extent;
  const std::uint64_t number = extent.first_block + block;
  const std::byte* const at = load.stored.data() + (extent.file->blocks()[number].offset - extent.file_offset);
  const Result<format::BlockHeader> header = checked_header(*extent.file, number, at);
  if (!header.has_value()) return header.error();
  const ByteView body(at + format::kBlockHeaderBytes, header->body_bytes());
  if (extent.decoded_bytes == 0) return format::decode_block(*header, body, {});

  std::byte* const out = load.decoded.data() + decoded_at;
  Result<format::BlockRecords> inside = format::decode_block(*header, body, {out, header->raw_bytes});
  if (!inside.has_value()) return inside;
  // The stored bytes are given back once the extent is decoded, so everything moves to the decoded side.
  if (header->codec == Codec::none) std::memcpy(out, body.data() + header->table_bytes, header->raw_bytes);
  if (header->table_bytes == 0) {
    return format::BlockRecords(out, header->records, header->raw_bytes / header->records);
  }
  std::byte* const table = out + header->raw_bytes;
  std::memcpy(table, body.data(), header->table_bytes);
  return format::BlockRecords(out, table, header->records);
}

Result<format::BlockRecords> load_block(Load& load, std::uint32_t block, std::uint64_t decoded_at) {
  if (load.read.has_value()) {
    Result<format::BlockRecords> loaded = decode(load, block, decoded_at);
    if (loaded.has_value()) return loaded;
  }
  // Bits also flip in memory and on the way from storage; only what fails twice is damage, and only that block.
  const Extent& extent = load.extent;
  const format::IndexEntry& entry = extent.file->blocks()[extent.first_block + block];
  const std::uint64_t bytes = format::kBlockHeaderBytes + std::uint64_t{entry.table_bytes} + entry.stored_bytes;
  ++load.retried_reads;
  extent.file->file().drop_cache(entry.offset, bytes);
  std::byte* const into = load.stored.data() + (entry.offset - extent.file_offset);
  if (Result<void> again = extent.file->file().read(entry.offset, {into, bytes}); !again.has_value()) {
    return again.error();
  }
  return decode(load, block, decoded_at);
}

}  // namespace

Result<format::BlockHeader> checked_header(const ShardFile& file, std::uint64_t block, const std::byte* at) {
  Result<format::BlockHeader> header =
      format::decode_block_header(std::span<const std::byte, format::kBlockHeaderBytes>(at, format::kBlockHeaderBytes));
  if (!header.has_value()) return header;
  if (Result<void> expected = format::check_block_header(*header, file.blocks()[block], file.info().file_id,
                                                         file.sequence(block), file.first_record(block));
      !expected.has_value()) {
    return expected.error();
  }
  return header;
}

Load::Load(const Extent& of, std::uint64_t with_number) : extent(of), number(with_number), blocks(of.blocks) {
  for (std::uint32_t block = 0; block < of.blocks; ++block) {
    blocks[block].load = this;
    blocks[block].number = block;
  }
}

void Load::check_and_decode() {
  const ShardInfo& info = extent.file->info();
  std::uint64_t decoded_at = 0;
  for (LoadedBlock& block : blocks) {
    const format::IndexEntry& entry = extent.file->blocks()[extent.first_block + block.number];
    block.first_id = extent.first_id + extent.file->first_record(extent.first_block + block.number) -
                     extent.file->first_record(extent.first_block);
    Result<format::BlockRecords> loaded = load_block(*this, block.number, decoded_at);
    if (loaded.has_value() && info.min_record_bytes == info.max_record_bytes &&
        !loaded->all_have(info.max_record_bytes)) {
      loaded = Error(Errc::index_mismatch,
                     "records are not all of " + std::to_string(info.max_record_bytes) + " bytes, as the footer says");
    }
    if (loaded.has_value()) {
      block.records = *loaded;
    } else {
      if (damage.empty()) damage.resize(blocks.size());
      damage[block.number] = loaded.error().at(extent.file->file().path(), entry.offset);
    }
    decoded_at += std::uint64_t{entry.raw_bytes} + entry.table_bytes;
  }
}

}  // namespace dovetail::detail
