// SPDX-License-Identifier: Apache-2.0
#include "reader/features/feature_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "format/example/packed_ints.h"
#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

/// The first numbers of a packed list: whole varints, at most `kPieceValues` bytes.
ByteView whole_varints(ByteView packed) noexcept {
  if (packed.size() <= kPieceValues) return packed;
  std::size_t end = kPieceValues;
  while (std::to_integer<unsigned>(packed[end - 1]) >= 0x80) --end;
  return packed.first(end);
}

/// Maps the bits of floats to integers of the same order, and back. Compilers vectorise minimum and
/// maximum of integers.
std::int32_t ordered(std::int32_t bits) noexcept {
  return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
}

struct IntTotals {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  // The sums of the 32-bit halves. Sums of up to 2^31 values fit.
  std::uint64_t low = 0;
  std::int64_t high = 0;
};

DOVETAIL_WIDE_VECTORS
IntTotals totals_of_ints(const std::int64_t* values, std::size_t count) noexcept {
  auto [least, most, low, high] = IntTotals();  // compilers do not vectorise with members
  for (std::size_t i = 0; i < count; ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
    low += static_cast<std::uint64_t>(values[i]) & 0xFFFFFFFF;
    high += values[i] >> 32;
  }
  return {least, most, low, high};
}

struct FloatTotals {
  // Ordered bits.
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  double sum = 0;
};

DOVETAIL_WIDE_VECTORS
FloatTotals totals_of_floats(const float* values, std::size_t count) noexcept {
  auto [least, most, total] = FloatTotals();
  // Many sums, because each addition to a single sum would wait for the one before.
  std::array<double, 16> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += static_cast<double>(values[i + lane]);
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]);
  for (i = 0; i < count; ++i) {
    const std::int32_t bits = ordered(std::bit_cast<std::int32_t>(values[i]));
    least = std::min(least, bits);
    most = std::max(most, bits);
  }
  for (const double sum : sums) total += sum;
  return {least, most, total};
}

/// Copies floats that may lie at any address; -0 becomes 0. A plain copy of at most one piece would
/// become `rep movs`, which takes four times as long.
DOVETAIL_WIDE_VECTORS
void load_floats(const std::byte* packed, std::size_t count, float* values) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, packed + i * sizeof(float), sizeof(float));
    values[i] = value + 0.0F;
  }
}

/// Returns whether sums of up to `kMostSingles` of these floats are exact as doubles: each sum is a
/// multiple of the last bit of the least float, and fits 53 bits.
DOVETAIL_WIDE_VECTORS
bool sums_exactly(const float* values, std::size_t count) noexcept {
  constexpr std::uint32_t kMostApart = 53 - 24 - std::bit_width(FloatRange::kMostSingles - 1);
  std::uint32_t least = ~std::uint32_t{0};
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF;
    least = std::min(least, magnitude - 1);  // of zero: the largest number
    most = std::max(most, magnitude);
  }
  return (most >> 23) <= ((least + 1) >> 23) + kMostApart;
}

}  // namespace

NumberPieces::NumberPieces(const format::FeatureView& feature) noexcept : rest_(feature.only) {
  if (rest_.data() == nullptr) values_.emplace(feature);
}

std::span<const std::int64_t> NumberPieces::next_ints() noexcept {
  std::size_t count = 0;
  if (!values_) {
    if (rest_.empty()) return {};
    const ByteView piece = whole_varints(rest_);
    rest_ = rest_.subspan(piece.size());
    count = static_cast<std::size_t>(
        format::unpack_all_ints(piece, Dtype::i64, std::as_writable_bytes(std::span(ints_)).data()).value_or(0));
  } else {
    while (count < kPieceValues && values_->next(ints_[count])) ++count;
  }
  return std::span(ints_).first(count);
}

std::span<const float> NumberPieces::next_floats() noexcept {
  std::size_t count = 0;
  if (!values_) {
    count = std::min(kPieceValues, rest_.size() / sizeof(float));
    load_floats(rest_.data(), count, floats_.data());
    rest_ = rest_.subspan(count * sizeof(float));
  } else {
    while (count < kPieceValues && values_->next(floats_[count])) ++count;
  }
  return std::span(floats_).first(count);
}

void IntRange::add(std::span<const std::int64_t> values) noexcept {
  if (values.size() == 1) return add(values.front());
  const IntTotals totals = totals_of_ints(values.data(), values.size());
  least_ = std::min(least_, totals.least);
  most_ = std::max(most_, totals.most);
  sum_ += (extended(totals.high) << 32) + totals.low;
}

void IntRange::add(const IntRange& other) noexcept {
  least_ = std::min(least_, other.least_);
  most_ = std::max(most_, other.most_);
  sum_ += other.sum_;
}

double IntRange::sum() const noexcept {
  const bool negative = high_half(sum_) >> 63 != 0;
  const auto magnitude = static_cast<double>(negative ? ~sum_ + 1 : sum_);
  return negative ? -magnitude : magnitude;
}

void FloatRange::add(std::span<const float> values) noexcept {
  if (values.size() == 1) return add_each(values);
  constexpr std::int32_t kInfinity = 0x7F800000;
  const FloatTotals totals = totals_of_floats(values.data(), values.size());
  if (totals.most >= kInfinity || ~totals.least >= kInfinity) return add_each(values);
  least_ = std::min(least_, static_cast<double>(std::bit_cast<float>(ordered(totals.least))));
  most_ = std::max(most_, static_cast<double>(std::bit_cast<float>(ordered(totals.most))));
  sum_.add(totals.sum);
  finite_ += values.size();
}

void FloatRange::add_singles(std::span<const float> values) noexcept {
  if (sums_exactly(values.data(), values.size())) return add(values);
  add_each(values);
}

void FloatRange::add(std::span<const double> values) noexcept {
  add_each(values);
}

template <class Float>
void FloatRange::add_each(std::span<const Float> values) noexcept {
  for (const Float each : values) {
    const auto value = static_cast<double>(each);
    if (std::isnan(value)) {
      ++nans_;
    } else if (std::isinf(value)) {
      ++infinities_;
    } else {
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
      sum_.add(value);
      ++finite_;
    }
  }
}

void FloatRange::add(const FloatRange& other) noexcept {
  least_ = std::min(least_, other.least_);
  most_ = std::max(most_, other.most_);
  sum_.add(other.sum_);
  finite_ += other.finite_;
  nans_ += other.nans_;
  infinities_ += other.infinities_;
}

}  // namespace dovetail::detail
