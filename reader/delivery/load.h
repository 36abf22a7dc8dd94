// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "reader/delivery/extent.h"
#include "reader/fetch/buffer_pool.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// A block in memory, as gathering sees it.
struct LoadedBlock {
  format::BlockRecords records;  ///< Of size 0 where the block is damaged.
  std::uint64_t first_id = 0;    ///< Of its records; known once it is loaded.
  const Load* load = nullptr;
  std::uint32_t number = 0;  ///< In the extent.

  bool damaged() const noexcept { return records.size() == 0; }
};

/// One reading of an extent: its bytes while they are in memory. Loads are planned, and numbered, in the order of their
/// first use.
///
/// Ownership: the extent's, until the unit of its last use takes it over.
/// Threads:   the destinations belong to the planner until the load is sealed; `state` and the buffers to the reader's
///            lock; contents to the thread that loads, and once it is `ready` to all readers.
struct Load {
  enum class State : std::uint8_t { planned, working, reading, ready };

  Load(const Extent& of, std::uint64_t with_number);

  const Extent& extent;
  const std::uint64_t number;
  /// Where the records go as soon as they are decoded: for each record of the extent, its row's first byte, counted from
  /// the first slot's. Empty where rows are gathered instead. Fixed once the load is sealed.
  std::vector<std::uint32_t> destinations;
  bool used_up = false;   ///< No row will be planned from it any more; belongs to the planner.
  bool sealed = false;    ///< It may begin: no further destination is noted; belongs to the planner.
  bool complete = false;  ///< All of its rows have a destination, so that it need not stay; fixed once it is sealed.
  State state = State::planned;
  AlignedBuffer stored;
  AlignedBuffer decoded;
  Result<void> read;                         ///< How the reading ended.
  std::vector<LoadedBlock> blocks;           ///< One per block of the extent; their places do not change.
  std::vector<std::optional<Error>> damage;  ///< One per block; empty where no block is damaged.
  std::uint32_t retried_reads = 0;

  /// For records that no row was planned from, or only after the load was sealed.
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  /// Where the bytes of the file go that the extent has. Needs: `stored` is there.
  std::byte* stored_begin() const noexcept { return stored.data() + extent.stored_at(); }

  /// Checks and decodes what was read there; `read` says whether that succeeded. A block that fails, or could
  /// not be read, is read once more on its own, past the page cache, before it counts as damaged, unless the storage has
  /// given it up. A block whose records are not of the one size that the footer promises is damaged as well.
  void check_and_decode(Storage& storage);
};

}  // namespace dovetail::detail
