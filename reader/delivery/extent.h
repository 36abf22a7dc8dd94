// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "reader/dataset/shard_file.h"
#include "reader/delivery/buffer_pool.h"

namespace dovetail::detail {

struct Unit;

/// Consecutive blocks of a run that are read with one call, decoded together, and dropped together after their last
/// use.
///
/// Threads: belongs to the reader's strand, but for `load` while the state is `loading`, and for reading `records` and
///          `damage` while it is `ready` and pinned.
struct Extent : std::enable_shared_from_this<Extent> {
  enum class State : std::uint8_t { absent, loading, ready };

  // Fixed when the extent is made.
  std::shared_ptr<const ShardFile> file;
  std::uint32_t shard = 0;
  std::uint64_t first_block = 0;
  std::uint32_t blocks = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t stored_bytes = 0;   ///< From the first header to the end of the last body.
  std::uint64_t decoded_bytes = 0;  ///< Records and tables; 0 where every block is stored as it is.

  // Use, counted by the strand.
  State state = State::absent;
  std::atomic<bool> read_done = false;  ///< While loading: bytes are there, and being decoded.
  std::uint64_t remaining = 0;          ///< Picks of the epoch that have not been gathered.
  std::uint32_t pins = 0;               ///< Admitted units that need it.
  std::vector<Unit*> waiting;           ///< Admitted units that it keeps from being gathered.
  std::uint64_t marked_by = 0;          ///< The unit that listed it last, and where.
  std::uint32_t mark_slot = 0;
  std::list<Extent*>::iterator resident_at{};

  // Contents while loading and ready.
  AlignedBuffer stored;
  AlignedBuffer decoded;
  std::vector<format::BlockRecords> records;  ///< One per block.
  std::vector<std::optional<Error>> damage;   ///< One per block; empty where no block is damaged.
  std::uint32_t retried_reads = 0;

  /// What it takes from the budget while it is being loaded.
  std::uint64_t load_cost() const noexcept {
    return BufferPool::rounded(stored_bytes) + (decoded_bytes > 0 ? BufferPool::rounded(decoded_bytes) : 0);
  }
  bool damaged(std::uint32_t block) const noexcept { return !damage.empty() && damage[block].has_value(); }

  /// Checks and decodes what was read into `stored`; `read` says whether that succeeded. A block that fails, or could
  /// not be read, is read once more on its own, past the page cache, before it counts as damaged.
  void load(const Result<void>& read);

 private:
  Result<format::BlockRecords> load_block(std::uint32_t block, std::uint64_t decoded_at, bool was_read);
  Result<format::BlockRecords> check_and_decode(std::uint32_t block, std::uint64_t decoded_at);
};

/// Cuts the blocks that hold records [first, end) of a shard into extents of at most `max_bytes` where blocks allow. A
/// block with a single record is an extent of its own: it is used once, so that nothing need be kept for it.
std::vector<std::shared_ptr<Extent>> make_extents(std::shared_ptr<const ShardFile> file, std::uint32_t shard,
                                                  std::uint64_t first, std::uint64_t end, std::uint64_t max_bytes);

}  // namespace dovetail::detail
