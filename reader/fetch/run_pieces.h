// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/container/small_vector.hpp>

#include <dovetail/order.h>

#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

/// Rules for reading runs.
struct FetchRules {
  /// The most bytes of a piece, which one call reads and one thread decodes.
  std::uint64_t read_bytes = 0;
  /// A block of one record of at least this size is not loaded into memory. Its record is *placed*:
  /// it is read or decoded straight into its row.
  std::uint64_t placed_bytes = 0;
  /// The size of every record; their records then lie contiguously in the memory of a run. 0 if
  /// sizes differ.
  std::uint32_t record_bytes = 0;
};

/// Consecutive blocks of a run that are read together.
struct RunPiece {
  std::size_t first_block = 0;  ///< Blocks [first_block, end_block) of the shard.
  std::size_t end_block = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t stored_bytes = 0;  ///< From the first header to the end of the last block.
  /// Offset of the piece's records in the memory of the run. If `in_place`, the offset where the
  /// piece is read to.
  std::size_t room_offset = 0;
  bool in_place = false;
};

/// The layout of a run in memory, computed from the index alone.
struct RunPieces {
  std::size_t first_block = 0;  ///< The block of the run's first record.
  /// Empty if all records are placed. Most runs have one piece.
  boost::container::small_vector<RunPiece, 1> pieces;
  /// Memory of the run: one `RecordExtent` per record if sizes differ, then the records.
  std::size_t room_bytes = 0;
  bool placed = false;  ///< Whether some records are placed.

  /// Needs: `run` lies within the records of the shard.
  static RunPieces of(const ShardFile& file, const Run& run, const FetchRules& rules);
};

/// Whether the record of a block is placed, not loaded into memory.
bool is_placed(const ShardFile& file, std::size_t block, const FetchRules& rules) noexcept;

/// The distance of consecutive records of `record_bytes` in the memory of a run.
std::uint32_t stride_of(const ShardFile& file, std::uint32_t record_bytes) noexcept;

}  // namespace dovetail::detail
