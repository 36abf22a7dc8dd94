// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/load.h"

#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "reader/dataset/stored_block.h"

namespace dovetail::detail {

namespace {

Result<format::BlockRecords> decode(const Load& load, std::uint32_t block, std::uint64_t decoded_at) {
  const Extent& extent = load.extent;
  const ShardFile& file = *extent.file;
  const std::uint64_t number = extent.first_block + block;
  const format::IndexEntry& entry = file.blocks()[number];
  const ByteView stored(load.stored_begin() + (entry.offset - extent.file_offset), stored_bytes(file, number));
  if (extent.decoded_bytes == 0) return decode_stored(file, number, stored, {});

  std::byte* const out = load.decoded.data() + decoded_at;
  if (extent.keeps_stored) return decode_stored(file, number, stored, {out, decoded_bytes(file, number)});
  Result<format::BlockRecords> inside = decode_stored(file, number, stored, {out, entry.raw_bytes});
  if (!inside.has_value()) return inside;
  // The stored bytes are given back once the extent is decoded, so everything moves to the decoded side.
  const ByteView body = stored.subspan(format::kBlockHeaderBytes);
  if (entry.codec == Codec::none) std::memcpy(out, body.data() + entry.table_bytes, entry.raw_bytes);
  if (entry.table_bytes == 0) return format::BlockRecords(out, entry.records, entry.raw_bytes / entry.records);
  std::byte* const table = out + entry.raw_bytes;
  std::memcpy(table, body.data(), entry.table_bytes);
  return format::BlockRecords(out, table, entry.records);
}

Result<format::BlockRecords> load_block(Load& load, std::uint32_t block, std::uint64_t decoded_at, Storage& storage) {
  if (load.read.has_value()) {
    Result<format::BlockRecords> loaded = decode(load, block, decoded_at);
    if (loaded.has_value()) return loaded;
  } else if (storage.gave_up(load.read.error())) {
    return load.read.error();
  }
  // Bits also flip in memory and on the way from storage; only what fails twice is damage, and only that block.
  const Extent& extent = load.extent;
  const format::IndexEntry& entry = extent.file->blocks()[extent.first_block + block];
  const std::uint64_t bytes = stored_bytes(*extent.file, extent.first_block + block);
  ++load.retried_reads;
  const std::span<std::byte> into(load.stored_begin() + (entry.offset - extent.file_offset), bytes);
  if (Result<void> again = storage.read_again(extent.file->file(), entry.offset, ReadInto{into}); !again.has_value()) {
    return again.error();
  }
  return decode(load, block, decoded_at);
}

}  // namespace

Load::Load(const Extent& of, std::uint64_t with_number) : extent(of), number(with_number), blocks(of.blocks) {
  for (std::uint32_t block = 0; block < of.blocks; ++block) {
    blocks[block].load = this;
    blocks[block].number = block;
  }
}

void Load::check_and_decode(Storage& storage) {
  const ShardInfo& info = extent.file->info();
  std::uint64_t decoded_at = 0;
  for (LoadedBlock& block : blocks) {
    const format::IndexEntry& entry = extent.file->blocks()[extent.first_block + block.number];
    block.first_id = extent.first_id + extent.file->first_record(extent.first_block + block.number) -
                     extent.file->first_record(extent.first_block);
    Result<format::BlockRecords> loaded = load_block(*this, block.number, decoded_at, storage);
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
    decoded_at += decoded_share(*extent.file, extent.first_block + block.number);
  }
}

}  // namespace dovetail::detail
