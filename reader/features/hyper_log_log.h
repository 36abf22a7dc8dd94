// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::detail {

/// Estimates how many different hashes were added: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier
/// 2007) with the estimator of Ertl (2017, arXiv:1702.01284), which needs no tables to correct a
/// bias.
///
/// The registers depend only on the set of hashes. So sketches merge exactly, and a sketch that was
/// made coarser equals one that was coarse from the start.
///
/// Needs: uniformly distributed hashes of 64 bits.
/// Cost:  one byte for each of the 2^precision registers. The standard error is 1.04 /
///        sqrt(registers).
class HyperLogLog {
 public:
  static constexpr unsigned kLeastPrecision = 8;
  static constexpr unsigned kMostPrecision = 14;

  /// Needs: `precision` is within the limits.
  explicit HyperLogLog(unsigned precision = kMostPrecision)
      : precision_(precision), registers_(std::size_t{1} << precision) {}

  void add(std::uint64_t hash) noexcept {
    // The added bit behind the bits of the hash bounds the rank.
    const std::uint64_t rest = hash << precision_ | std::uint64_t{1} << (precision_ - 1);
    const auto rank = static_cast<std::uint8_t>(std::countl_zero(rest) + 1);
    std::uint8_t& known = registers_[hash >> (64 - precision_)];
    if (rank > known) known = rank;
  }

  /// Faster for many hashes, above all if many different ones were added before.
  void add(std::span<const std::uint64_t> hashes) noexcept;
  /// Adds the hashes of floats (`hash_of`), and computes them.
  void add(std::span<const float> values) noexcept;

  double standard_error() const noexcept;
  /// Needs: `precision` is at most the present precision.
  void make_coarser(unsigned precision);
  /// The result has the coarser precision of both.
  void merge(HyperLogLog other);
  double estimate() const noexcept;

 private:
  // Hashes after which it looks for the least register again.
  static constexpr std::uint64_t kFloorAfter = std::uint64_t{1} << 15;

  /// Call this before `hashes` hashes are added. Updates the floor.
  void expect(std::size_t hashes) noexcept;

  unsigned precision_;
  unsigned floor_ = 0;  // no register is below it
  std::vector<std::uint8_t> registers_;
  std::uint64_t until_floor_ = kFloorAfter;
};

}  // namespace dovetail::detail
