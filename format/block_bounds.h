// SPDX-License-Identifier: Apache-2.0
// Decides where blocks and runs end. Equal record sizes and limits always give equal blocks, in
// shards and in indexes of TFRecords.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

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

/// Returns whether the first records of a dataset suffice to choose a run length: all but the
/// largest have 1 MiB and `run_bytes`, which is enough for a mean of sizes that differ much. Writers
/// hold these records back, so it also returns true at the format's limit of records in a block,
/// and if they have 16 MiB and `run_bytes`.
bool can_choose_run(std::uint64_t run_bytes, const FirstRecords& first) noexcept;

/// Returns the number of records per run, from 1 to the format's limit for a block.
/// If the first records have one size, a run has up to `run_bytes`. If their sizes differ, a run
/// has three quarters of `run_bytes` on average, so that most runs stay below `run_bytes`. The
/// largest record does not count if the others fill a run: one long record says little about the
/// mean.
/// Needs: `first` ends no later than the record at which `can_choose_run` first returns true.
std::uint64_t choose_run_records(std::uint64_t run_bytes, const FirstRecords& first) noexcept;

/// Returns the bytes of an average run. Needs: `records` is not 0.
std::uint64_t mean_run_bytes(std::uint64_t records, std::uint64_t raw_bytes, std::uint64_t run_records) noexcept;

/// Returns the run length with `run_bytes` on average, if it is more than twice `run_records` and
/// the dataset has more than one such run. Then the first records did not resemble the others, and
/// reads are short.
std::optional<std::uint64_t> longer_run(std::uint64_t records, std::uint64_t raw_bytes, std::uint64_t run_records,
                                        std::uint64_t run_bytes) noexcept;

/// Ends a block at every multiple of the run length, at the format's limit of records, and before a
/// record that would exceed `block_bytes`. A record of at least half of `block_bytes` gets a block
/// of its own.
class BlockBounds {
 public:
  /// Needs: `run_records > 0`.
  BlockBounds(std::uint32_t block_bytes, std::uint64_t run_records) noexcept
      : block_bytes_(block_bytes), run_records_(run_records) {}

  /// Returns whether the open block must end before a record of `record_bytes` bytes.
  bool ends_before(std::uint64_t record_bytes) const noexcept;
  /// Adds a record to the open block, and returns whether the block ends after that record.
  /// Needs: the caller has ended the block if `ends_before` returned true.
  bool add(std::uint64_t record_bytes) noexcept;
  /// Ends the open block.
  void end_block() noexcept { records_ = bytes_ = 0; }
  /// Ends the shard: the next record is the first of a new shard.
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
