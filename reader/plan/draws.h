// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reader/plan/philox.h"

namespace dovetail::detail {

/// What a draw decides. Part of the order: the numbers never change.
enum class Purpose : std::uint32_t {
  shards = 1,    ///< The permutation of the shards.
  runs = 2,      ///< The permutation of a lane's runs.
  pool = 3,      ///< The slot that an output leaves.
  drain = 4,     ///< The permutation in which the last records leave the pool.
  global = 5,    ///< The permutation of all records.
  run_line = 6,  ///< The permutation of the runs of the whole dataset.
  stride = 7,    ///< In which order a run gives its records.
  pause = 8,     ///< When a run pauses that is shorter than the longest of its group.
};

/// A stream of 64-bit words, each a pure function of (seed, purpose, epoch, lane, index). docs/order.md, "Draws".
///
/// Units: `index` below 2^57.
class Draws {
 public:
  /// Words computed at a time where many are wanted.
  static constexpr std::size_t kBatch = 64;
  using Batch = std::array<std::uint64_t, kBatch>;

  Draws(std::uint64_t seed, Purpose purpose, std::uint32_t epoch, std::uint32_t lane) noexcept
      : key_{low_word(seed), high_word(seed)},
        purpose_(static_cast<std::uint32_t>(purpose)),
        epoch_(epoch),
        lane_(lane) {}

  std::uint64_t word(std::uint64_t index) const noexcept {
    const std::uint64_t block = index >> 1;
    return block_word(philox({low_word(block), counter_high(block), lane_, epoch_}, key_), index & 1);
  }

  /// Words 2 * number and 2 * number + 1, drawn together.
  std::pair<std::uint64_t, std::uint64_t> pair(std::uint64_t number) const noexcept {
    const PhiloxBlock block = philox({low_word(number), counter_high(number), lane_, epoch_}, key_);
    return {block_word(block, 0), block_word(block, 1)};
  }

  /// Words [number * kBatch, (number + 1) * kBatch).
  void batch(std::uint64_t number, Batch& out) const noexcept;

 private:
  std::uint32_t counter_high(std::uint64_t block) const noexcept { return purpose_ << 24 | high_word(block); }

  PhiloxKey key_;
  std::uint32_t purpose_;
  std::uint32_t epoch_;
  std::uint32_t lane_;
};

}  // namespace dovetail::detail
