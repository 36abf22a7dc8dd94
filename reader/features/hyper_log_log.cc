// SPDX-License-Identifier: Apache-2.0
#include "reader/features/hyper_log_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace dovetail::detail {
namespace {

// The functions sigma and tau of Ertl's algorithm 6. Both series end when a further term no longer
// changes the double.
double sigma(double x) noexcept {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1;
  double z = x;
  for (double before = -1; z != before;) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) noexcept {
  if (x == 0 || x == 1) return 0;
  double y = 1;
  double z = 1 - x;
  for (double before = -1; z != before;) {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

}  // namespace

double HyperLogLog::standard_error() const noexcept {
  return 1.04 / std::sqrt(static_cast<double>(registers_.size()));
}

void HyperLogLog::make_coarser(unsigned precision) {
  while (precision_ > precision) {
    // The lowest bit of the register's number becomes the first bit of the rest, whose leading
    // zeros count.
    for (std::size_t i = 0; i < registers_.size() / 2; ++i) {
      const std::uint8_t even = registers_[2 * i];
      const std::uint8_t odd = registers_[2 * i + 1];
      registers_[i] = std::max<std::uint8_t>(even == 0 ? 0 : static_cast<std::uint8_t>(even + 1), odd == 0 ? 0 : 1);
    }
    registers_.resize(registers_.size() / 2);
    --precision_;
  }
  registers_.shrink_to_fit();
}

void HyperLogLog::merge(HyperLogLog other) {
  const unsigned precision = std::min(precision_, other.precision_);
  make_coarser(precision);
  other.make_coarser(precision);
  for (std::size_t i = 0; i < registers_.size(); ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

double HyperLogLog::estimate() const noexcept {
  const auto registers = static_cast<double>(registers_.size());
  std::array<double, 66> with_rank{};
  for (const std::uint8_t rank : registers_) ++with_rank[rank];
  const std::size_t bits = 64 - precision_;
  double z = registers * tau(1 - with_rank[bits + 1] / registers);
  for (std::size_t rank = bits; rank >= 1; --rank) z = 0.5 * (z + with_rank[rank]);
  z += registers * sigma(with_rank[0] / registers);
  return registers * registers / (2 * std::log(2.0) * z);
}

}  // namespace dovetail::detail
