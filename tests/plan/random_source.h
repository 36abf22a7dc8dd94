// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace dovetail::test {

/// SplitMix64: the same numbers on every machine and with every standard library.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : state_(seed) {}

  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// In [0, n).
  std::uint64_t below(std::uint64_t n) { return word() % n; }
  /// In [first, last].
  std::uint32_t between(std::uint32_t first, std::uint32_t last) {
    return first + static_cast<std::uint32_t>(below(std::uint64_t{last} - first + 1));
  }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace dovetail::test
