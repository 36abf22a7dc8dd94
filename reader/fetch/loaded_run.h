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
/// Threads:   pieces may be filled concurrently, each by one thread. Results are visible to all
///            threads after the last piece is filled.
class LoadedRun {
 public:
  LoadedRun() = default;
  /// Needs: `room` has at least `pieces.room_bytes` bytes, which is below 2^31.
  LoadedRun(const ShardFile& file, const Run& run, RunPieces pieces, const FetchRules& rules, AlignedBuffer room);

  const Run& run() const noexcept { return run_; }
  std::span<const RunPiece> pieces() const noexcept { return pieces_.pieces; }
  const ShardFile& file() const noexcept { return *file_; }

  /// The memory that a piece is read to. Empty if the caller must provide `stored_bytes` of memory.
  std::span<std::byte> read_into(std::size_t piece) const noexcept;

  /// Result of filling a piece.
  struct Filled {
    std::vector<DamagedBlock> damage;
    std::uint32_t retried_reads = 0;
  };
  /// Checks and decodes a piece in `stored`; `read` is the result of reading the piece. A block
  /// that fails, or could not be read, is read once more by itself, past the page cache, before it
  /// counts as damaged. A read that the storage has abandoned is not repeated.
  Filled fill(std::size_t piece, const Result<void>& read, std::span<std::byte> stored, Storage& storage);

  /// The run in a form that can be dealt. Needs: all pieces are filled. `damaged` is true if any
  /// piece had damage.
  ReadyRun ready(std::uint32_t shard, bool damaged) const noexcept;

  /// Gives the memory away.
  AlignedBuffer take_room() noexcept { return std::exchange(room_, {}); }

 private:
  Result<void> fill_block(const RunPiece& piece, std::size_t block, std::span<std::byte> stored);
  /// Notes the places of the records of a block. For a partial run, only those of records in the
  /// run.
  void note(std::size_t block, const format::BlockRecords& records);

  const ShardFile* file_ = nullptr;
  Run run_;
  RunPieces pieces_;
  FetchRules rules_;
  AlignedBuffer room_;
  // Of the run's records, if they differ in size; stored in `room_`.
  std::span<RecordExtent> extents_;
};

}  // namespace dovetail::detail
