// SPDX-License-Identifier: Apache-2.0
// A sample of the blocks of a dataset, for measurements.
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/dataset.h>

#include "reader/dataset/shard_file.h"

namespace dovetail::tools {

/// Blocks from shards all over a dataset, equally many from each, in random order.
struct BlockSample {
  /// The blocks of one run, which are read together; or a large record, which is read straight into
  /// its row.
  struct Piece {
    std::uint32_t file = 0;
    std::size_t first_block = 0;
    std::size_t end_block = 0;
    bool direct = false;
  };
  std::vector<detail::ShardFile> files;
  std::vector<Piece> pieces;
  std::size_t blocks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t compressed_bytes = 0;  ///< Raw bytes in compressed blocks.
};

/// Opens at most 16 shards, or fewer if the descriptor limit is low. Chooses no blocks yet.
/// Errors: those of `open_shard`.
Result<BlockSample> open_sample(const Dataset& dataset);

/// Chooses pieces of up to `most_bytes` stored and `most_bytes` raw bytes, but at least one piece.
void choose_blocks(std::uint64_t most_bytes, BlockSample& sample);

/// A sequential read of files, as by `cat`.
struct SequentialRead {
  double cached_share = 0;  ///< Share that was cached before; negative if unknown.
  std::uint64_t bytes = 0;
  double seconds = 0;

  double rate() const noexcept { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

/// Reads the files of a sample one after the other, for about `seconds`. Then drops from the page
/// cache what was not cached before, so that the next measurement finds the original state.
/// Errors: those of the system.
Result<SequentialRead> read_sequentially(const BlockSample& sample, double seconds);

}  // namespace dovetail::tools
