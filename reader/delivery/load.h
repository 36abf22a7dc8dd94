// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "reader/delivery/buffer_pool.h"
#include "reader/delivery/extent.h"

namespace dovetail::detail {

/// A block in memory, as gathering sees it.
struct LoadedBlock {
  format::BlockRecords records;  ///< Of size 0 where the block is damaged.
  const Load* load = nullptr;
  std::uint32_t number = 0;  ///< In the extent.

  bool damaged() const noexcept { return records.size() == 0; }
};

/// One reading of an extent: its bytes while they are in memory. Loads are planned, and numbered, in the order of their
/// first use.
///
/// Ownership: the extent's, until the unit of its last use takes it over.
/// Threads:   `state` and the buffers belong to the reader's lock; contents to the thread that loads, and once it is
///            `ready` to all readers.
struct Load {
  enum class State : std::uint8_t { planned, working, reading, ready };

  Load(const Extent& of, std::uint64_t with_number);

  const Extent& extent;
  const std::uint64_t number;
  State state = State::planned;
  AlignedBuffer stored;
  AlignedBuffer decoded;
  Result<void> read;                         ///< How the reading ended.
  std::vector<LoadedBlock> blocks;           ///< One per block of the extent; their places do not change.
  std::vector<std::optional<Error>> damage;  ///< One per block; empty where no block is damaged.
  std::uint32_t retried_reads = 0;

  /// Checks and decodes what was read into `stored`; `read` says whether that succeeded. A block that fails, or could
  /// not be read, is read once more on its own, past the page cache, before it counts as damaged.
  void check_and_decode();
};

/// Whether a block that was read at its place in the file is the one that the index promises; its header.
Result<format::BlockHeader> checked_header(const ShardFile& file, std::uint64_t block, const std::byte* at);

}  // namespace dovetail::detail
