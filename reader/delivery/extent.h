// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "reader/dataset/shard_file.h"
#include "reader/fetch/buffer_pool.h"

namespace dovetail::detail {

struct Load;
struct RunEntry;

/// Consecutive blocks of a run that are read with one call, decoded together, and dropped together after their last
/// use; or one block with a single stored record, which is read straight into its row.
///
/// Threads: belongs to the planner. What is fixed may be read from any thread while a unit that uses it is there.
struct Extent {
  // Fixed when the extent is made.
  const ShardFile* file = nullptr;
  std::uint32_t shard = 0;
  std::uint32_t blocks = 0;
  std::uint64_t first_block = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t stored_bytes = 0;  ///< From the first header to the end of the last body.
  std::uint64_t decoded_bytes =
      0;  ///< Records and tables, or of an indexed TFRecord these; 0 where nothing is decoded.
  std::uint64_t records = 0;
  std::uint64_t first_id = 0;  ///< Of its records.
  bool direct = false;         ///< Never loaded: its record goes from the file into the row.
  bool keeps_stored = false;   ///< Records are used where they were read, whatever is decoded beside them.

  // Use, counted by the planner.
  RunEntry* user = nullptr;
  std::uint64_t picks = 0;      ///< Of the epoch.
  std::uint64_t unplanned = 0;  ///< Of these, those that have no row yet; its user counts while it is turned to it,
  std::uint64_t last_row = 0;   ///< and notes the last row that was planned from it.
  std::size_t resident_at = 0;
  std::unique_ptr<Load> load;  ///< The present reading; null where its bytes are not in memory, by plan.

  /// Where the stored bytes begin in their buffer: as far behind a line as in the file, so that copying them out of the
  /// page cache goes line by line.
  std::size_t stored_at() const noexcept { return file_offset % AlignedBuffer::kAlignment; }
  /// What a load takes from the budget.
  std::uint64_t load_cost() const noexcept {
    return BufferPool::rounded(stored_at() + stored_bytes) +
           (decoded_bytes > 0 ? BufferPool::rounded(decoded_bytes) : 0);
  }
  /// Bytes of the only record. Needs: `direct`.
  std::uint32_t record_bytes() const noexcept { return file->blocks()[first_block].raw_bytes; }
};

/// Where the page cache is used, blocks are read one by one: a block is then gathered from the caches. Otherwise runs
/// are read with one call up to this size, beyond which larger reads gain nothing.
inline constexpr std::uint64_t kCachedExtentBytes = 64 << 10;
inline constexpr std::uint64_t kDirectExtentBytes = 1 << 20;
/// Smaller records are read with others, if they share no block, rather than with a call each.
inline constexpr std::uint64_t kDirectRecordBytes = 16 << 10;

/// How blocks are joined to extents.
struct ExtentRules {
  std::uint64_t join_bytes = 0;    ///< Blocks are read together up to this size, stored or decoded.
  std::uint64_t direct_bytes = 0;  ///< Single records from this size on are read straight into their rows.
};

/// What a block takes of its extent's decoded bytes, where there are any.
std::uint64_t decoded_share(const ShardFile& file, std::size_t block) noexcept;

/// Where a block of a run is.
struct BlockPlace {
  std::uint64_t first_record = 0;  ///< In the shard.
  std::uint32_t extent = 0;
  std::uint32_t block = 0;  ///< In the extent.
};

/// The blocks of a run, cut into extents.
struct RunBlocks {
  std::vector<Extent> extents;
  std::vector<BlockPlace> places;  ///< In the order of the blocks.
};

/// Cuts the blocks that hold records [first, end) of a shard. A block with a single record is an extent of its own: it
/// is used once, so that nothing need be kept for it. Needs: `first < end`.
RunBlocks make_extents(const ShardFile& file, std::uint32_t shard, std::uint64_t first, std::uint64_t end,
                       const ExtentRules& rules);

}  // namespace dovetail::detail
