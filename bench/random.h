// SPDX-License-Identifier: Apache-2.0
// Fast draws for made-up data: the same numbers for the same seed, on every machine.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace dovetail::bench {

/// One step of SplitMix64: turns numbers that resemble each other into ones that do not.
constexpr std::uint64_t scrambled(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

/// xoshiro256++ (Blackman and Vigna, https://prng.di.unimi.it).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) word = seed = scrambled(seed);
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// Below `n`, which is not 0. The bias is below n / 2^32.
  std::uint32_t below(std::uint32_t n) noexcept { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }
  /// In [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  void fill(std::span<std::byte> out) noexcept {
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= out.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = next();
      std::memcpy(out.data() + at, &word, sizeof(word));
    }
    const std::uint64_t word = next();
    std::memcpy(out.data() + at, &word, out.size() - at);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

/// Draws from a discrete distribution at the price of one random number (Walker's alias method).
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights);
  /// Of the weights 1, 2^-exponent, 3^-exponent, ... of `n` values.
  static AliasTable zipf(std::uint32_t n, double exponent);

  std::uint32_t draw(Random& random) const noexcept {
    const std::uint64_t word = random.next();
    const auto column = static_cast<std::uint32_t>(((word >> 32) * columns_.size()) >> 32);
    return static_cast<std::uint32_t>(word) < columns_[column].keep ? column : columns_[column].other;
  }

 private:
  struct Column {
    std::uint32_t keep = 0xFFFFFFFF;  // of 2^32: how often the column means itself
    std::uint32_t other = 0;
  };
  std::vector<Column> columns_;
};

}  // namespace dovetail::bench
