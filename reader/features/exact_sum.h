// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace dovetail::detail {

/// A sum of doubles without rounding, and therefore the same in any order: a fixed-point number,
/// wide enough for sums of floats.
///
/// Needs: finite numbers below 2^160. Bits below 2^-149, the smallest float, may be lost.
class ExactSum {
 public:
  void add(double value) noexcept;
  void add(const ExactSum& other) noexcept;
  /// The sum, rounded.
  double value() const noexcept;

 private:
  // Digits of 32 bits, with room for the carries of 2^28 additions. The first digit stands for
  // 2^-201, so that all 53 bits of a double of magnitude 2^-149 have a place.
  static constexpr int kLowestExponent = -201;
  static constexpr std::uint32_t kMostPending = std::uint32_t{1} << 28;

  void carry() noexcept;

  std::array<std::int64_t, 14> digits_{};
  std::uint32_t pending_ = 0;
};

}  // namespace dovetail::detail
