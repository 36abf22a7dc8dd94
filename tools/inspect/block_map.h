// SPDX-License-Identifier: Apache-2.0
// The blocks of a dataset as coloured cells.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dovetail/record_reader.h>

namespace dovetail::tools {

/// Consecutive blocks in one cell.
struct BlockCell {
  std::uint32_t first_shard = 0;
  std::uint64_t first_block = 0;  ///< Counted over all shards.
  std::uint64_t blocks = 0;
  std::uint64_t compressed = 0;  ///< Number of compressed blocks in the cell.
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

struct BlockMap {
  std::vector<BlockCell> cells;
  std::uint64_t blocks_per_cell = 1;  ///< The last cell may have fewer.
};

/// Makes at most `most` cells, with equally many blocks each. Needs: `most > 0`.
BlockMap map_blocks(std::span<const ShardDescription> shards, std::size_t most);

/// The map as a drawing for a page.
std::string block_map_svg(const BlockMap& map, std::span<const ShardDescription> shards);

}  // namespace dovetail::tools
