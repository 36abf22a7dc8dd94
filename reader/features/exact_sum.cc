// SPDX-License-Identifier: Apache-2.0
#include "reader/features/exact_sum.h"

#include <bit>
#include <cmath>
#include <cstddef>

namespace dovetail::detail {

void ExactSum::add(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  const int place = exponent - 1075 - kLowestExponent;
  if (place < 0) return;  // also for zero
  const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  const auto first = static_cast<std::size_t>(place) / 32;
  const auto shift = static_cast<unsigned>(place) % 32;
  const std::uint64_t low = (mantissa & 0xFFFFFFFF) << shift;
  const std::uint64_t high = (mantissa >> 32) << shift;
  const std::int64_t sign = bits >> 63 != 0 ? -1 : 1;
  digits_[first] += sign * static_cast<std::int64_t>(low & 0xFFFFFFFF);
  digits_[first + 1] += sign * static_cast<std::int64_t>((low >> 32) + (high & 0xFFFFFFFF));
  digits_[first + 2] += sign * static_cast<std::int64_t>(high >> 32);
  if (++pending_ == kMostPending) carry();
}

void ExactSum::add(const ExactSum& other) noexcept {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += carried.digits_[i];
  ++pending_;
}

void ExactSum::carry() noexcept {
  for (std::size_t i = 0; i + 1 < digits_.size(); ++i) {
    digits_[i + 1] += digits_[i] >> 32;
    digits_[i] &= 0xFFFFFFFF;
  }
  pending_ = 0;
}

double ExactSum::value() const noexcept {
  ExactSum sum = *this;
  sum.carry();
  // The digits of a negative number are those of its complement, so round its magnitude.
  const bool negative = sum.digits_.back() < 0;
  if (negative) {
    for (std::int64_t& digit : sum.digits_) digit = -digit;
    sum.carry();
  }
  double value = 0;
  for (std::size_t i = digits_.size(); i-- > 0;) {
    value += std::ldexp(static_cast<double>(sum.digits_[i]), static_cast<int>(32 * i) + kLowestExponent);
  }
  return negative ? -value : value;
}

}  // namespace dovetail::detail
