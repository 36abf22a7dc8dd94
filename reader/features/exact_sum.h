// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace dovetail::detail {

/// A sum of doubles without rounding, and therefore the same in any order: a fixed-point number,
/// wide enough for sums of floats, and of doubles that are no larger.
///
/// Needs: finite numbers below 2^160. Those below 2^-1022 count as zero.
class ExactSum {
 public:
  void add(double value) noexcept;
  void add(const ExactSum& other) noexcept;
  /// The sum, rounded.
  double value() const noexcept;

 private:
  // Digits of 32 bits, with room for the carries of 2^28 additions. The first digit stands for
  // 2^-1074, so that all 53 bits of a double of magnitude 2^-1022 have a place.
  static constexpr int kLowestExponent = -1074;
  static constexpr std::uint32_t kMostPending = std::uint32_t{1} << 28;

  void carry() noexcept;

  std::array<std::int64_t, 41> digits_{};
  std::uint32_t pending_ = 0;
};

}  // namespace dovetail::detail
