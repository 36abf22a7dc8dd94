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

/// Hands out the blocks of a dataset, or some at equal distances, to threads that read them: a few
/// consecutive ones of one shard at a time. So threads are busy to the end, whether there are many
/// shards or one.
///
/// Threads: all calls may run concurrently. Shards are opened at the same time.
class BlockQueue {
 public:
  /// Reads about so many records; 0 means all. Needs: the dataset stays valid.
  BlockQueue(const Dataset& dataset, std::uint64_t max_records);

  struct Blocks {
    std::shared_ptr<const ShardFile> file;
    // Of the shard, in the dataset: the id of its first record, and the number of its first block.
    std::uint64_t first_id = 0;
    std::uint64_t first_number = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Nothing at the end. Shards that cannot be opened for damage are counted and left out.
  /// Errors: those of `open_shard`.
  Result<std::optional<Blocks>> take();
  /// Whether a block of the dataset is one of those that are read.
  bool chosen(std::uint64_t number) const noexcept { return chosen_before(number + 1) > chosen_before(number); }
  /// Ends it early: nothing more is handed out.
  void stop();

  struct Damage {
    std::uint64_t blocks = 0;
    std::uint64_t records = 0;
    std::uint64_t first_number = ~std::uint64_t{0};
    std::optional<Error> first;
  };
  /// Counts blocks that cannot be read for damage; `number` is that of the first of them in the
  /// dataset.
  void add_damage(std::uint64_t number, std::uint64_t blocks, std::uint64_t records, const Error& error);
  /// The first error is that of the lowest number.
  Damage damage() const;

 private:
  /// How many of the blocks below that number are read.
  std::uint64_t chosen_before(std::uint64_t number) const noexcept;
  /// The next blocks of a shard that is open; the lock is held.
  std::optional<Blocks> take_open();
  void count_damage(std::uint64_t number, std::uint64_t blocks, std::uint64_t records, const Error& error);

  const Dataset& dataset_;
  std::uint64_t all_blocks_ = 0;
  std::uint64_t read_blocks_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::deque<Blocks> open_;  // with what is left of each
  std::uint32_t next_shard_ = 0;
  std::uint64_t next_id_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint32_t opening_ = 0;
  bool stopped_ = false;
  Damage damage_;
};

}  // namespace dovetail::detail
