// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/order.h>

#include "format/block_decoder.h"
#include "reader/dataset/shard_file.h"
#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/run_pieces.h"
#include "reader/storage/storage.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

/// A block that cannot be read or contradicts the index.
struct DamagedBlock {
  std::size_t block = 0;  ///< Number in the shard.
  std::uint64_t first_id = 0;
  std::uint32_t records = 0;
  Error error;
};

/// A run of a shard, or a part of one, that is loaded into memory piece by piece.
///
/// Ownership: owns the memory of the records; the shard is borrowed and outlives it.
/// Threads:   pieces may be filled concurrently, each by one thread. Results are visible to all after the last piece is
///            filled.
class LoadedRun {
 public:
  LoadedRun() = default;
  /// `room` has at least `pieces.room_bytes` bytes, below 2^31.
  LoadedRun(const ShardFile& file, const Run& run, RunPieces pieces, const FetchRules& rules, AlignedBuffer room);

  const Run& run() const noexcept { return run_; }
  std::span<const RunPiece> pieces() const noexcept { return pieces_.pieces; }
  const ShardFile& file() const noexcept { return *file_; }

  /// Where a piece is read to. Empty if the caller must provide `stored_bytes` of memory.
  std::span<std::byte> read_into(std::size_t piece) const noexcept;

  /// Result of filling a piece.
  struct Filled {
    std::vector<DamagedBlock> damage;
    std::uint32_t retried_reads = 0;
  };
  /// Checks and decodes a piece in `stored`; `read` is the result of reading it. A block that fails, or could not be
  /// read, is read once more by itself, past the page cache, before it counts as damaged. Exception: the storage has
  /// abandoned it.
  Filled fill(std::size_t piece, const Result<void>& read, std::span<std::byte> stored, Storage& storage);

  /// The run as it can be dealt, after all pieces are filled; `damaged` if any of them had damage.
  ReadyRun ready(std::uint32_t shard, bool damaged) const noexcept;

  /// Returns the memory.
  AlignedBuffer take_room() noexcept { return std::exchange(room_, {}); }

 private:
  Result<void> fill_block(const RunPiece& piece, std::size_t block, std::span<std::byte> stored);
  /// Notes the places of the records of a block. In a partial run, only of those that it needs.
  void note(std::size_t block, const format::BlockRecords& records);

  const ShardFile* file_ = nullptr;
  Run run_;
  RunPieces pieces_;
  FetchRules rules_;
  AlignedBuffer room_;
  std::span<RecordExtent> extents_;  // of the run's records if they differ in size; in `room_`
};

}  // namespace dovetail::detail
