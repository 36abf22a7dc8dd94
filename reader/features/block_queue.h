// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include <dovetail/dataset.h>
#include <dovetail/error.h>

#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

/// Hands out the blocks of a dataset, or some blocks at equal distances, to threads that read them.
/// A thread gets a few consecutive blocks of one shard at a time. So all threads are busy to the
/// end, with many shards or one.
///
/// Threads: all calls may run concurrently. Shards are opened at the same time.
class BlockQueue {
 public:
  /// Reads about `max_records` records; 0 means all. Needs: the dataset outlives the queue.
  BlockQueue(const Dataset& dataset, std::uint64_t max_records);

  struct Blocks {
    std::shared_ptr<const ShardFile> file;
    // The dataset's id of the shard's first record, and the dataset's number of the shard's first
    // block.
    std::uint64_t first_id = 0;
    std::uint64_t first_number = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The next blocks; empty at the end. Shards that cannot be opened because of damage are counted
  /// and skipped.
  /// Errors: those of `open_shard`.
  Result<std::optional<Blocks>> take();
  /// Whether a block of the dataset, by its number, is one of those that are read.
  bool chosen(std::uint64_t number) const noexcept { return chosen_before(number + 1) > chosen_before(number); }
  /// Ends the queue early: it hands out no more blocks.
  void stop();

  struct Damage {
    std::uint64_t blocks = 0;
    std::uint64_t records = 0;
    std::uint64_t first_number = ~std::uint64_t{0};
    std::optional<Error> first;
  };
  /// Counts damaged blocks that cannot be read. `number` is the number of the first of them in the
  /// dataset.
  void add_damage(std::uint64_t number, std::uint64_t blocks, std::uint64_t records, const Error& error);
  /// The damage so far. Its error is that of the block with the lowest number.
  Damage damage() const;

 private:
  /// The number of chosen blocks among the first `number` blocks.
  std::uint64_t chosen_before(std::uint64_t number) const noexcept;
  /// The next blocks of an open shard. Needs: the lock is held.
  std::optional<Blocks> take_open();
  void count_damage(std::uint64_t number, std::uint64_t blocks, std::uint64_t records, const Error& error);

  const Dataset& dataset_;
  std::uint64_t all_blocks_ = 0;
  std::uint64_t read_blocks_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::deque<Blocks> open_;  // each with the blocks that are left
  std::uint32_t next_shard_ = 0;
  std::uint64_t next_id_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint32_t opening_ = 0;
  bool stopped_ = false;
  Damage damage_;
};

}  // namespace dovetail::detail
