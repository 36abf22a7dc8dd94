// SPDX-License-Identifier: Apache-2.0
#include "bench/bare_shards.h"

#include <algorithm>
#include <array>

#include "format/layout.h"

namespace dovetail::bench {

namespace {

format::BlockHeader checked_header(const BareShard& shard, std::size_t number,
                                   std::span<const std::byte, format::kBlockHeaderBytes> bytes) {
  const format::BlockHeader header = format::decode_block_header(bytes).value();
  const auto sequence = static_cast<std::uint32_t>(number + 1);  // behind the metadata
  format::check_block_header(header, shard.index[number], shard.file_id, sequence, shard.first_record[number]).value();
  return header;
}

}  // namespace

std::size_t BareShard::block_of(std::uint64_t record) const {
  const auto after = std::upper_bound(first_record.begin(), first_record.end(), record);
  return static_cast<std::size_t>(after - first_record.begin()) - 1;
}

BareShards::BareShards(const Dataset& dataset, const std::string& folder) {
  std::uint64_t blocks = 0;
  std::size_t largest = 0;
  for (const std::string& path : shards_in(folder)) {
    BareShard& shard = shards_.emplace_back(path);
    shard.file_id = dataset.shards()[shards_.size() - 1].file_id;
    shard.index = read_index(shard.file);
    shard.first_block = blocks;
    blocks += shard.index.size();
    std::uint64_t records = 0;
    for (const format::IndexEntry& entry : shard.index) {
      shard.first_record.push_back(records);
      records += entry.records;
      largest = std::max<std::size_t>(largest, entry.table_bytes + entry.stored_bytes);
    }
  }
  stored_ = std::make_unique_for_overwrite<std::byte[]>(format::kBlockHeaderBytes + largest);
}

std::pair<const BareShard*, std::size_t> BareShards::find(std::uint64_t block) const {
  const auto after = std::upper_bound(shards_.begin(), shards_.end(), block,
                                      [](std::uint64_t at, const BareShard& shard) { return at < shard.first_block; });
  const BareShard& shard = *(after - 1);
  return {&shard, static_cast<std::size_t>(block - shard.first_block)};
}

format::BlockRecords BareShards::load_block(const BareShard& shard, std::size_t number, std::span<std::byte> out) {
  const format::IndexEntry& entry = shard.index[number];
  const bool decoded = entry.codec != Codec::none;
  std::byte* const to = decoded ? stored_.get() : out.data();
  const std::span<std::byte> block(to, format::kBlockHeaderBytes + entry.table_bytes + entry.stored_bytes);
  shard.file.read(entry.offset, block);
  const format::BlockHeader header = checked_header(shard, number, block.first<format::kBlockHeaderBytes>());
  const ByteView body = block.subspan(format::kBlockHeaderBytes);
  return format::decode_block(header, body, decoded ? out : std::span<std::byte>()).value();
}

void BareShards::read_image(const BareShard& shard, std::size_t number, std::span<std::byte> row) {
  std::array<std::byte, format::kBlockHeaderBytes> bytes;
  shard.file.read_two(shard.index[number].offset, bytes, row);
  format::decode_block(checked_header(shard, number, bytes), row, {}).value();
}

}  // namespace dovetail::bench
