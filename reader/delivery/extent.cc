// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/extent.h"

#include <cstring>
#include <utility>

namespace dovetail::detail {

void Extent::load(const Result<void>& read) {
  records.assign(blocks, {});
  damage.clear();
  std::uint64_t decoded_at = 0;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const format::IndexEntry& entry = file->blocks()[first_block + block];
    Result<format::BlockRecords> loaded = load_block(block, decoded_at, read.has_value());
    if (loaded.has_value()) {
      records[block] = *loaded;
    } else {
      if (damage.empty()) damage.resize(blocks);
      damage[block] = loaded.error().at(file->file().path(), entry.offset);
    }
    decoded_at += std::uint64_t{entry.raw_bytes} + entry.table_bytes;
  }
}

Result<format::BlockRecords> Extent::load_block(std::uint32_t block, std::uint64_t decoded_at, bool was_read) {
  if (was_read) {
    Result<format::BlockRecords> loaded = check_and_decode(block, decoded_at);
    if (loaded.has_value()) return loaded;
  }
  // Bits also flip in memory and on the way from storage; only what fails twice is damage, and only that block.
  const format::IndexEntry& entry = file->blocks()[first_block + block];
  const std::uint64_t bytes = format::kBlockHeaderBytes + std::uint64_t{entry.table_bytes} + entry.stored_bytes;
  ++retried_reads;
  file->file().drop_cache(entry.offset, bytes);
  std::byte* const into = stored.data() + (entry.offset - file_offset);
  if (Result<void> again = file->file().read(entry.offset, {into, bytes}); !again.has_value()) return again.error();
  return check_and_decode(block, decoded_at);
}

Result<format::BlockRecords> Extent::check_and_decode(std::uint32_t block, std::uint64_t decoded_at) {
  const std::uint64_t number = first_block + block;
  const format::IndexEntry& entry = file->blocks()[number];
  const std::byte* const at = stored.data() + (entry.offset - file_offset);
  Result<format::BlockHeader> header =
      format::decode_block_header(std::span<const std::byte, format::kBlockHeaderBytes>(at, format::kBlockHeaderBytes));
  if (!header.has_value()) return header.error();
  if (Result<void> expected = format::check_block_header(*header, entry, file->info().file_id, file->sequence(number),
                                                         file->first_record(number));
      !expected.has_value()) {
    return expected.error();
  }
  const ByteView body(at + format::kBlockHeaderBytes, header->body_bytes());
  if (decoded_bytes == 0) return format::decode_block(*header, body, {});

  std::byte* const out = decoded.data() + decoded_at;
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

std::vector<std::shared_ptr<Extent>> make_extents(std::shared_ptr<const ShardFile> file, std::uint32_t shard,
                                                  std::uint64_t first, std::uint64_t end, std::uint64_t max_bytes) {
  std::vector<std::shared_ptr<Extent>> extents;
  const std::span<const format::IndexEntry> blocks = file->blocks();
  bool compressed = false;
  std::uint64_t decoded = 0;
  const auto finish = [&] {
    if (!extents.empty()) extents.back()->decoded_bytes = compressed ? decoded : 0;
  };
  for (std::uint64_t block = file->block_of(first); block < blocks.size() && file->first_record(block) < end; ++block) {
    const format::IndexEntry& entry = blocks[block];
    const std::uint64_t body_end =
        entry.offset + format::kBlockHeaderBytes + std::uint64_t{entry.table_bytes} + entry.stored_bytes;
    const bool joins = !extents.empty() && entry.records > 1 && blocks[block - 1].records > 1 &&
                       body_end - extents.back()->file_offset <= max_bytes &&
                       decoded + entry.raw_bytes + entry.table_bytes <= max_bytes;
    if (!joins) {
      finish();
      compressed = false;
      decoded = 0;
      extents.push_back(std::make_shared<Extent>());
      extents.back()->file = file;
      extents.back()->shard = shard;
      extents.back()->first_block = block;
      extents.back()->file_offset = entry.offset;
    }
    Extent& extent = *extents.back();
    ++extent.blocks;
    extent.stored_bytes = body_end - extent.file_offset;
    compressed = compressed || entry.codec != Codec::none;
    decoded += std::uint64_t{entry.raw_bytes} + entry.table_bytes;
  }
  finish();
  return extents;
}

}  // namespace dovetail::detail
