// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/extent.h"

#include <span>

#include "reader/dataset/stored_block.h"
#include "reader/delivery/load.h"

namespace dovetail::detail {

std::uint64_t decoded_share(const ShardFile& file, std::size_t block) noexcept {
  if (keeps_stored(file)) return decoded_bytes(file, block);
  const format::IndexEntry& entry = file.blocks()[block];
  return std::uint64_t{entry.raw_bytes} + entry.table_bytes;
}

RunBlocks make_extents(const ShardFile& file, std::uint32_t shard, std::uint64_t first, std::uint64_t end,
                       const ExtentRules& rules) {
  RunBlocks run;
  const std::span<const format::IndexEntry> blocks = file.blocks();
  const bool keeps = keeps_stored(file);
  bool decodes = false;
  std::uint64_t decoded = 0;
  const auto finish = [&] {
    if (!run.extents.empty()) run.extents.back().decoded_bytes = decodes ? decoded : 0;
  };
  for (std::uint64_t block = file.block_of(first); block < blocks.size() && file.first_record(block) < end; ++block) {
    const format::IndexEntry& entry = blocks[block];
    const std::uint64_t body_end = entry.offset + stored_bytes(file, block);
    const std::uint64_t share = decoded_share(file, block);
    const bool joins = !run.extents.empty() && entry.records > 1 && blocks[block - 1].records > 1 &&
                       body_end - run.extents.back().file_offset <= rules.join_bytes &&
                       decoded + share <= rules.join_bytes;
    if (!joins) {
      finish();
      decodes = false;
      decoded = 0;
      Extent& added = run.extents.emplace_back();
      added.file = &file;
      added.shard = shard;
      added.first_block = block;
      added.file_offset = entry.offset;
      added.direct = is_single(file, block) && entry.raw_bytes >= rules.direct_bytes;
      added.keeps_stored = keeps;
    }
    Extent& extent = run.extents.back();
    run.places.push_back({.first_record = file.first_record(block),
                          .extent = static_cast<std::uint32_t>(run.extents.size() - 1),
                          .block = extent.blocks});
    ++extent.blocks;
    extent.records += entry.records;
    extent.stored_bytes = body_end - extent.file_offset;
    decodes = decodes || decoded_bytes(file, block) > 0;
    decoded += share;
  }
  finish();
  return run;
}

}  // namespace dovetail::detail
