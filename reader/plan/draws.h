// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reader/plan/philox.h"

namespace dovetail::detail {

/// The decision that a draw is for. The numbers are part of the order and never change.
enum class Purpose : std::uint32_t {
  shards = 1,    ///< The permutation of the shards.
  runs = 2,      ///< The permutation of a lane's runs.
  pool = 3,      ///< The pool slot that an output empties.
  drain = 4,     ///< The permutation in which the pool is emptied at the end.
  global = 5,    ///< The permutation of all records.
  run_line = 6,  ///< The permutation of the runs of the whole dataset.
  stride = 7,    ///< First record and stride of a run.
  pause = 8,     ///< The turn at which a run shorter than its group's longest begins to pause.
};

/// A stream of 64-bit words. Each word is a pure function of (seed, purpose, epoch, lane, index).
/// docs/order.md, "Draws".
///
/// Units: `index` is below 2^57.
class Draws {
 public:
  /// Words that `batch` computes in one call.
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
