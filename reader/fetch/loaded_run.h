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

/// A block that cannot be read, or is not what its index says.
struct DamagedBlock {
  std::size_t block = 0;  ///< Of the shard.
  std::uint64_t first_id = 0;
  std::uint32_t records = 0;
  Error error;
};

/// A run of a shard, or a part of one, that is brought into memory piece by piece.
///
/// Ownership: owns the memory of the records; the shard is borrowed and outlives it.
/// Threads:   pieces may be filled at the same time, each by one thread; what they give is there for all once the last of
///            them has ended.
class LoadedRun {
 public:
  LoadedRun() = default;
  /// `room` has at least `pieces.room_bytes` bytes, which are below 2^31.
  LoadedRun(const ShardFile& file, const Run& run, RunPieces pieces, const FetchRules& rules, AlignedBuffer room);

  const Run& run() const noexcept { return run_; }
  std::span<const RunPiece> pieces() const noexcept { return pieces_.pieces; }
  const ShardFile& file() const noexcept { return *file_; }

  /// Where a piece is read to; empty where that is memory of whoever reads it, `stored_bytes` of it.
  std::span<std::byte> read_into(std::size_t piece) const noexcept;

  /// What filling a piece has met.
  struct Filled {
    std::vector<DamagedBlock> damage;
    std::uint32_t retried_reads = 0;
  };
  /// Checks and decodes a piece that lies in `stored`; `read` says how reading it ended. A block that fails, or could not be
  /// read, is read once more by itself, past the page cache, before it counts as damaged, unless the storage has given it
  /// up.
  Filled fill(std::size_t piece, const Result<void>& read, std::span<std::byte> stored, Storage& storage);

  /// As it may be dealt, once all pieces are filled; `damaged` where one of them gave damage.
  ReadyRun ready(std::uint32_t shard, bool damaged) const noexcept;

  /// Gives the memory back.
  AlignedBuffer take_room() noexcept { return std::exchange(room_, {}); }

 private:
  Result<void> fill_block(const RunPiece& piece, std::size_t block, std::span<std::byte> stored);
  /// Notes where the records of a block lie; of some of them, in a run that is cut, nothing is noted.
  void note(std::size_t block, const format::BlockRecords& records);

  const ShardFile* file_ = nullptr;
  Run run_;
  RunPieces pieces_;
  FetchRules rules_;
  AlignedBuffer room_;
  std::span<RecordExtent> extents_;  // of the run's records, where they differ in size; in `room_`
};

}  // namespace dovetail::detail
