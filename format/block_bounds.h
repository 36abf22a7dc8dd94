// SPDX-License-Identifier: Apache-2.0
// Where blocks and runs end: the same sizes and limits always give the same blocks, in shards and in indexes of TFRecords.
#pragma once

#include <cstdint>

namespace dovetail::format {

/// Records per run so that a run is about `run_bytes`, judged by the first `records` records and their `bytes`.
std::uint64_t choose_run_records(std::uint64_t run_bytes, std::uint64_t records, std::uint64_t bytes) noexcept;

/// Whether the first records of a dataset suffice to choose: tiny or empty ones would make runs arbitrarily long.
bool can_choose_run(std::uint64_t run_bytes, std::uint64_t records, std::uint64_t bytes) noexcept;

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
