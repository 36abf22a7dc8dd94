// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dovetail::detail {

struct PhiloxKey {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint64_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr std::uint64_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxWeyl1 = 0xBB67AE85;

constexpr std::uint32_t low_word(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high_word(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value >> 32);
}

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers, SC'11): a keyed permutation
/// of 128-bit counters. Its outputs are random numbers, and each is computed without the others.
constexpr PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) noexcept {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = kPhiloxMultiplier0 * counter[0];
    const std::uint64_t product1 = kPhiloxMultiplier1 * counter[2];
    counter = {high_word(product1) ^ counter[1] ^ key.first, low_word(product1),
               high_word(product0) ^ counter[3] ^ key.second, low_word(product0)};
    key.first += kPhiloxWeyl0;
    key.second += kPhiloxWeyl1;
  }
  return counter;
}

/// Half `half` (0 or 1) of a block as a 64-bit word, the first number in its low bits.
constexpr std::uint64_t block_word(const PhiloxBlock& block, std::size_t half) noexcept {
  return block[2 * half] | std::uint64_t{block[2 * half + 1]} << 32;
}

}  // namespace dovetail::detail
