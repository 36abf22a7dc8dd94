// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/block_map.h"

#include <algorithm>

#include "format/text/count_of.h"
#include "tools/command/render.h"
#include "tools/command/svg.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kColumns = 64;
constexpr double kStep = 15;
constexpr double kCell = 13;

std::string hint(const BlockCell& cell, std::span<const ShardDescription> shards) {
  std::string text = cell.blocks == 1 ? "block " + std::to_string(cell.first_block)
                                      : "blocks " + std::to_string(cell.first_block) + " to " +
                                            std::to_string(cell.first_block + cell.blocks - 1);
  text += " from shard " + std::to_string(cell.first_shard) + ", " + shards[cell.first_shard].info.name + ": ";
  text += format::count_of(cell.records, "record") + ", " + format::count_of(cell.raw_bytes, "byte") + " raw, " +
          std::to_string(cell.stored_bytes) + " stored, ";
  if (cell.compressed == 0) return text + "not compressed";
  return text + (cell.compressed == cell.blocks ? "compressed" : "compressed in " + std::to_string(cell.compressed));
}

/// The share that compression saved. 0 if no block is compressed, so that the map then has one
/// colour.
double share_saved(const BlockCell& cell) {
  if (cell.compressed == 0 || cell.raw_bytes <= cell.stored_bytes) return 0;
  return 1 - static_cast<double>(cell.stored_bytes) / static_cast<double>(cell.raw_bytes);
}

}  // namespace

BlockMap map_blocks(std::span<const ShardDescription> shards, std::size_t most) {
  std::uint64_t blocks = 0;
  for (const ShardDescription& shard : shards) blocks += shard.blocks.size();
  BlockMap map;
  map.blocks_per_cell = std::max<std::uint64_t>(1, (blocks + most - 1) / most);
  std::uint64_t number = 0;
  for (std::uint32_t shard = 0; shard < shards.size(); ++shard) {
    for (const BlockInfo& block : shards[shard].blocks) {
      if (number % map.blocks_per_cell == 0) map.cells.push_back({.first_shard = shard, .first_block = number});
      BlockCell& cell = map.cells.back();
      ++cell.blocks;
      cell.compressed += block.codec != Codec::none ? 1 : 0;
      cell.records += block.records;
      cell.raw_bytes += block.raw_bytes;
      cell.stored_bytes += block.stored_bytes;
      ++number;
    }
  }
  return map;
}

std::string block_map_svg(const BlockMap& map, std::span<const ShardDescription> shards) {
  Svg svg(kColumns * kStep, "Block map");
  for (std::size_t i = 0; i < map.cells.size(); ++i) {
    const BlockCell& cell = map.cells[i];
    const std::size_t row = i / kColumns;
    const double x = static_cast<double>(i % kColumns) * kStep;
    const double y = static_cast<double>(row) * kStep;
    const bool plain = cell.compressed == 0;
    svg.rect(x, y, kCell, kCell, plain ? std::string() : scale_colour(share_saved(cell)), plain ? "plain" : "packed",
             hint(cell, shards));
  }
  const std::size_t rows = (map.cells.size() + kColumns - 1) / kColumns;
  return svg.finish_inline(static_cast<double>(rows) * kStep);
}

}  // namespace dovetail::tools
