// SPDX-License-Identifier: Apache-2.0
// Records that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dovetail::test {

using Records = std::vector<std::string>;

/// SplitMix64: the same numbers on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept;
  /// In [0, n). Needs: `n > 0`.
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }

 private:
  std::uint64_t state_;
};

/// `size` bytes that do not compress.
std::string noise(std::size_t size, std::uint64_t seed);
/// `size` bytes that compress well.
std::string prose(std::size_t size, std::uint64_t seed);
/// `count` records of up to `most` bytes, the same for the same seed; some are empty, some
/// compress, some do not.
Records sample_records(std::size_t count, std::size_t most, std::uint64_t seed);
/// `count` records of different sizes, the first of them empty, each saying which it is.
Records numbered_records(std::size_t count, const std::string& prefix = "record");

}  // namespace dovetail::test
