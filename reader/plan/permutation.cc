// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/permutation.h"

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

/// The finaliser of SplitMix64: every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value ^= value >> 30;
  value *= 0xBF58476D1CE4E5B9;
  value ^= value >> 27;
  value *= 0x94D049BB133111EB;
  value ^= value >> 31;
  return value;
}

constexpr std::uint64_t add_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) noexcept {
  const std::uint64_t sum = a + b;
  return sum >= modulus ? sum - modulus : sum;
}

constexpr std::uint64_t subtract_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) noexcept {
  return a >= b ? a - b : a + (modulus - b);
}

}  // namespace

Permutation Permutation::identity(std::uint64_t size) noexcept {
  return Permutation(size);
}

Permutation Permutation::keyed(std::uint64_t size, const Draws& keys) noexcept {
  Permutation permutation(size);
  if (size < 2) return permutation;
  permutation.rows_ = square_root_up(size);
  permutation.columns_ = divide_up(size, permutation.rows_);
  permutation.rounds_ = size < kSmallSize ? kSmallRounds : kRounds;
  for (std::uint32_t round = 0; round < permutation.rounds_; ++round) permutation.keys_[round] = keys.word(round);
  return permutation;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const noexcept {
  if (rounds_ == 0) return position;
  // The table has up to `rows_ - 1` surplus cells. A result that is such a cell is mapped again
  // until it is below `size_`.
  do {
    position = mix_once(position);
  } while (position >= size_);
  return position;
}

std::uint64_t Permutation::inverse(std::uint64_t number) const noexcept {
  if (rounds_ == 0) return number;
  do {
    number = unmix_once(number);
  } while (number >= size_);
  return number;
}

std::uint64_t Permutation::mix_once(std::uint64_t position) const noexcept {
  std::uint64_t row = position / columns_;
  std::uint64_t column = position % columns_;
  for (std::uint32_t round = 0; round < rounds_; round += 2) {
    row = add_modulo(row, scale_below(mix(column ^ keys_[round]), rows_), rows_);
    column = add_modulo(column, scale_below(mix(row ^ keys_[round + 1]), columns_), columns_);
  }
  return row * columns_ + column;
}

std::uint64_t Permutation::unmix_once(std::uint64_t number) const noexcept {
  std::uint64_t row = number / columns_;
  std::uint64_t column = number % columns_;
  for (std::uint32_t round = rounds_; round > 0; round -= 2) {
    column = subtract_modulo(column, scale_below(mix(row ^ keys_[round - 1]), columns_), columns_);
    row = subtract_modulo(row, scale_below(mix(column ^ keys_[round - 2]), rows_), rows_);
  }
  return row * columns_ + column;
}

}  // namespace dovetail::detail
