// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/extent.h"

#include <span>

#include "reader/delivery/load.h"

namespace dovetail::detail {

RunBlocks make_extents(const ShardFile& file, std::uint32_t shard, std::uint64_t first, std::uint64_t end,
                       const ExtentRules& rules) {
  RunBlocks run;
  const std::span<const format::IndexEntry> blocks = file.blocks();
  bool compressed = false;
  std::uint64_t decoded = 0;
  const auto finish = [&] {
    if (!run.extents.empty()) run.extents.back().decoded_bytes = compressed ? decoded : 0;
  };
  for (std::uint64_t block = file.block_of(first); block < blocks.size() && file.first_record(block) < end; ++block) {
    const format::IndexEntry& entry = blocks[block];
    const std::uint64_t body_end =
        entry.offset + format::kBlockHeaderBytes + std::uint64_t{entry.table_bytes} + entry.stored_bytes;
    const bool joins = !run.extents.empty() && entry.records > 1 && blocks[block - 1].records > 1 &&
                       body_end - run.extents.back().file_offset <= rules.join_bytes &&
                       decoded + entry.raw_bytes + entry.table_bytes <= rules.join_bytes;
    if (!joins) {
      finish();
      compressed = false;
      decoded = 0;
      Extent& added = run.extents.emplace_back();
      added.file = &file;
      added.shard = shard;
      added.first_block = block;
      added.file_offset = entry.offset;
      added.direct = entry.records == 1 && entry.codec == Codec::none && entry.table_bytes == 0 &&
                     entry.raw_bytes >= rules.direct_bytes;
    }
    Extent& extent = run.extents.back();
    run.places.push_back({.first_record = file.first_record(block),
                          .extent = static_cast<std::uint32_t>(run.extents.size() - 1),
                          .block = extent.blocks});
    ++extent.blocks;
    extent.records += entry.records;
    extent.stored_bytes = body_end - extent.file_offset;
    compressed = compressed || entry.codec != Codec::none;
    decoded += std::uint64_t{entry.raw_bytes} + entry.table_bytes;
  }
  finish();
  return run;
}

}  // namespace dovetail::detail
