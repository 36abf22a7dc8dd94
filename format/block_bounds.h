// SPDX-License-Identifier: Apache-2.0
// Where blocks, chunks and runs end: the same sizes and limits always give the same ends, in shards and in indexes of
// TFRecords.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dovetail::format {

/// How many records a run has, and a chunk of it. The last run of a shard and the last chunk of a run may be shorter.
struct RunShape {
  std::uint64_t run_records = 1;
  std::uint64_t chunk_records = 1;  ///< 1 to `run_records`.

  friend bool operator==(const RunShape&, const RunShape&) = default;
};

/// Whether a block of `records` records, at least 1, reaches past the end of the chunk that holds `first_record`.
bool crosses_chunk_end(const RunShape& shape, std::uint64_t first_record, std::uint64_t records) noexcept;

/// What a writer aims at.
struct RunTargets {
  std::uint32_t block_bytes;
  std::uint64_t run_bytes;
  std::uint64_t run_records = 0;    ///< 0 chooses.
  std::uint64_t chunk_records = 0;  ///< 0 chooses.

  bool open() const noexcept { return run_records == 0 || chunk_records == 0; }
};

/// The sizes of the first records of a dataset.
struct FirstRecords {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;

  void add(std::uint64_t record_bytes) noexcept {
    ++records;
    bytes += record_bytes;
    least = std::min(least, record_bytes);
    most = std::max(most, record_bytes);
  }
};

/// Whether the first records of a dataset suffice to choose: tiny or empty ones would make runs arbitrarily long.
bool can_choose_run(std::uint64_t run_bytes, const FirstRecords& first) noexcept;

/// Completes a shape by the first records: what `targets` give is kept, what is 0 is chosen.
///
/// A chosen chunk fills a block with records of one size, and three quarters of a block with records of several sizes,
/// so that most chunks are one block. It is 1 where the mean record gets a block of its own. It exceeds neither
/// `run_bytes`, where the run is chosen too, nor the format's limit of records per block. A given run is cut into chunks
/// of nearly equal length. A chosen run is the number of chunks nearest to `run_bytes`: at least one, and no more records
/// than that limit.
///
/// Needs: `first` ends with the record with which `can_choose_run` says yes, or before it. Without records it gives the
/// shortest chunks and the shortest run of them.
RunShape choose_run_shape(const RunTargets& targets, const FirstRecords& first) noexcept;

/// A block is closed before a record that would bring it above `block_bytes`, at every end of a chunk, and at the
/// format's limit of records. A record of at least half of `block_bytes` gets a block of its own.
class BlockBounds {
 public:
  /// Needs: a shape without zeros.
  BlockBounds(std::uint32_t block_bytes, const RunShape& shape) noexcept : block_bytes_(block_bytes), shape_(shape) {}

  /// Whether the open block ends before a record of so many bytes.
  bool ends_before(std::uint64_t record_bytes) const noexcept;
  /// Takes a record into the open block; whether that ends with it. Needs: the block was ended if `ends_before` said so.
  bool add(std::uint64_t record_bytes) noexcept;
  /// The open block ends.
  void end_block() noexcept { records_ = bytes_ = 0; }
  /// The next record is a shard's first.
  void end_shard() noexcept { in_run_ = records_ = bytes_ = 0; }

 private:
  std::uint32_t block_bytes_;
  RunShape shape_;
  std::uint64_t in_run_ = 0;   // records of the open run
  std::uint64_t records_ = 0;  // in the open block
  std::uint64_t bytes_ = 0;
};

}  // namespace dovetail::format
