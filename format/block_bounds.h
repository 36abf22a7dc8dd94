// SPDX-License-Identifier: Apache-2.0
// Where blocks and runs end: the same sizes and limits always give the same blocks, in shards and in indexes of TFRecords.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dovetail::format {

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

/// Records per run, so that a run has up to `run_bytes` where the first records have one size, and three quarters of it on
/// average where they have several, so that most runs are within. At least 1, and at most what a block may hold.
/// Needs: `first` ends with the record with which `can_choose_run` says yes, or before it.
std::uint64_t choose_run_records(std::uint64_t run_bytes, const FirstRecords& first) noexcept;

/// A block is closed before a record that would bring it above `block_bytes`, at every multiple of the run length, and at
/// the format's limit of records. A record of at least half of `block_bytes` gets a block of its own.
class BlockBounds {
 public:
  /// Needs: `run_records > 0`.
  BlockBounds(std::uint32_t block_bytes, std::uint64_t run_records) noexcept
      : block_bytes_(block_bytes), run_records_(run_records) {}

  /// Whether the open block ends before a record of so many bytes.
  bool ends_before(std::uint64_t record_bytes) const noexcept;
  /// Takes a record into the open block; whether that ends with it. Needs: the block was ended if `ends_before` said so.
  bool add(std::uint64_t record_bytes) noexcept;
  /// The open block ends.
  void end_block() noexcept { records_ = bytes_ = 0; }
  /// The next record is a shard's first.
  void end_shard() noexcept { shard_records_ = records_ = bytes_ = 0; }

 private:
  bool alone(std::uint64_t record_bytes) const noexcept { return record_bytes >= block_bytes_ / 2; }

  std::uint32_t block_bytes_;
  std::uint64_t run_records_;
  std::uint64_t shard_records_ = 0;
  std::uint64_t records_ = 0;  // in the open block
  std::uint64_t bytes_ = 0;
};

}  // namespace dovetail::format
