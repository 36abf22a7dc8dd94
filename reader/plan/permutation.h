// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "reader/plan/draws.h"

namespace dovetail::detail {

/// A keyed bijection of [0, size): a permutation that is computed, not stored. docs/order.md,
/// "Permutations".
///
/// Threads: const calls may run concurrently.
/// Cost:    about 50 ns a call for any size; no allocation.
class Permutation {
 public:
  /// Maps every position to itself.
  static Permutation identity(std::uint64_t size) noexcept;
  /// Needs: `size` below 2^62. A permutation of size 0 has no positions to ask for.
  static Permutation keyed(std::uint64_t size, const Draws& keys) noexcept;

  std::uint64_t size() const noexcept { return size_; }
  /// The number at `position`, both below `size()`.
  std::uint64_t operator()(std::uint64_t position) const noexcept;
  /// The position of `number`.
  std::uint64_t inverse(std::uint64_t number) const noexcept;

 private:
  // Few positions mix slowly and need more rounds; measured in tests/plan/permutation_test.cc.
  static constexpr std::uint64_t kSmallSize = 256;
  static constexpr std::uint32_t kSmallRounds = 24;
  static constexpr std::uint32_t kRounds = 8;

  explicit Permutation(std::uint64_t size) noexcept : size_(size) {}
  std::uint64_t mix_once(std::uint64_t position) const noexcept;
  std::uint64_t unmix_once(std::uint64_t number) const noexcept;

  std::uint64_t size_;
  std::uint64_t rows_ = 1;     // `height` in the specification
  std::uint64_t columns_ = 1;  // `width`
  std::uint32_t rounds_ = 0;   // 0 for the identity
  std::array<std::uint64_t, kSmallRounds> keys_{};
};

}  // namespace dovetail::detail
