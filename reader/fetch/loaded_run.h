// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/order.h>

#include "format/block_decoder.h"
#include "reader/dataset/shard_file.h"
#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/damage_log.h"
#include "reader/storage/storage.h"
#include "reader/walk/entry.h"

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
  std::uint64_t scattered_group = 1;  ///< See `RunMemory`.
};

/// Whether the record of a block is placed, not loaded into memory.
bool is_placed(const ShardFile& file, std::size_t block, const FetchRules& rules) noexcept;

/// The distance of consecutive records of `record_bytes` in the memory of a run.
std::uint32_t stride_of(const ShardFile& file, std::uint32_t record_bytes) noexcept;

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

/// A block that cannot be read or contradicts the index.
struct DamagedBlock {
  std::size_t block = 0;  ///< Number in the shard.
  std::uint64_t first_id = 0;
  std::uint32_t records = 0;
  Error error;
};

/// A run of a shard that is loaded into memory piece by piece.
///
/// Ownership: owns the memory of the records, and shares the file until the run has its result.
/// Threads:   guarded by its owner, with one exception: pieces may be filled concurrently, each by
///            one thread, without a lock.
class LoadedRun {
 public:
  explicit LoadedRun(const Run& of) : run(of) {}

  /// Divides the run into pieces, by the index alone. Returns the bytes of memory that it needs:
  /// one `RecordExtent` per record if sizes differ, then the records.
  /// Needs: the run lies within the records of the shard.
  std::size_t lay_out(const ShardFile& of, const FetchRules& rules);
  /// Needs: `of` is the file of the last `lay_out`, and `room` has the bytes that it returned,
  /// which are below 2^31.
  void begin(std::shared_ptr<const ShardFile> of, AlignedBuffer room);

  /// Empty if all records are placed. Most runs have one piece.
  std::span<const RunPiece> pieces() const noexcept { return pieces_; }
  /// The memory that a piece is read to. Empty if the caller must provide `stored_bytes` of memory.
  std::span<std::byte> read_into(std::size_t piece) const noexcept;

  /// Result of filling a piece.
  struct Filled {
    std::vector<DamagedBlock> damage;
    std::uint32_t retried_reads = 0;
  };
  /// Checks and decodes a piece in `stored`, block by block as `check_twice`; `read` is the result
  /// of reading the piece.
  Filled fill(std::size_t piece, const Result<void>& read, std::span<std::byte> stored, Storage& storage);

  /// The run in a form that can be dealt. Needs: all pieces are filled.
  ReadyRun ready() const noexcept;
  /// Makes the result after all pieces are filled, and releases the file. Without a file, because
  /// the shard is lost, no record is in memory.
  void finish();
  /// Gives the memory away.
  AlignedBuffer take_room() noexcept { return std::exchange(room_, {}); }

  const Run run;
  std::shared_ptr<const ShardFile> file;
  std::size_t next_piece = 0;  ///< The next piece to claim.
  std::size_t left = 0;        ///< Pieces that are not filled yet.
  bool prepared = false;       ///< Its pieces are known, and its memory is allocated.
  bool damaged = false;        ///< Some piece had damage.
  ReadyRun result;             ///< Set by `finish`.

 private:
  void lay_out_sized(const ShardFile& of) noexcept;
  void lay_out_row(const ShardFile& of) noexcept;
  Result<void> fill_block(const RunPiece& piece, std::size_t block, ByteView of_block);
  /// Notes the places of the records of a block. For a partial run, only those of records in the
  /// run.
  void note(std::size_t block, const format::BlockRecords& records);

  FetchRules rules_;
  std::size_t first_block_ = 0;  // the block of the run's first record
  boost::container::small_vector<RunPiece, 1> pieces_;
  std::size_t room_bytes_ = 0;
  bool places_ = false;  // whether some records are placed
  AlignedBuffer room_;
  // Of the run's records, if they differ in size; stored in `room_`.
  std::span<RecordExtent> extents_;
};

}  // namespace dovetail::detail
