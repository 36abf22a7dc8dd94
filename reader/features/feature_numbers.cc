// SPDX-License-Identifier: Apache-2.0
#include "reader/features/feature_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "format/example/packed_ints.h"

namespace dovetail::detail {
namespace {

constexpr std::uint32_t kPacked = format::wire_tag(1, format::WireType::bytes);

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

}  // namespace

NumberPieces::NumberPieces(const format::FeatureView& feature, Room& room) noexcept : room_(room) {
  format::WireCursor cursor(feature.list);
  format::WireFault fault;
  std::uint32_t tag = 0;
  const bool packed = feature.lists == 1 && !cursor.done() && cursor.read_tag(tag, fault) && tag == kPacked &&
                      cursor.read_bytes(rest_, fault) && cursor.done();
  if (!packed) values_.emplace(feature);
}

std::span<const std::int64_t> NumberPieces::next_ints() noexcept {
  std::size_t count = 0;
  if (!values_) {
    if (rest_.empty()) return {};
    const ByteView piece = whole_varints(rest_);
    rest_ = rest_.subspan(piece.size());
    if (piece.size() <= format::kVarintBytes) {  // mostly a single number
      format::WireCursor cursor(piece);
      format::WireFault fault;
      for (std::uint64_t value = 0; !cursor.done() && cursor.read_varint(value, fault);) {
        room_.ints[count++] = static_cast<std::int64_t>(value);
      }
      return std::span(room_.ints).first(count);
    }
    count = static_cast<std::size_t>(
        format::unpack_all_ints(piece, Dtype::i64, std::as_writable_bytes(std::span(room_.ints)).data()).value_or(0));
  } else {
    while (count < kPieceValues && values_->next(room_.ints[count])) ++count;
  }
  return std::span(room_.ints).first(count);
}

std::span<const float> NumberPieces::next_floats() noexcept {
  std::size_t count = 0;
  if (!values_) {
    count = std::min(kPieceValues, rest_.size() / sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      room_.floats[i] = std::bit_cast<float>(format::load_le<std::uint32_t>(rest_.data() + i * sizeof(float)));
    }
    rest_ = rest_.subspan(count * sizeof(float));
  } else {
    while (count < kPieceValues && values_->next(room_.floats[count])) ++count;
  }
  return std::span(room_.floats).first(count);
}

void IntRange::add(std::span<const std::int64_t> values) noexcept {
  std::int64_t least = least_;
  std::int64_t most = most_;
  std::uint64_t low = 0;
  std::int64_t high = 0;
  for (const std::int64_t value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
    // Sum the 32-bit halves separately, so that sums of up to 2^31 values fit.
    low += static_cast<std::uint64_t>(value) & 0xFFFFFFFF;
    high += value >> 32;
  }
  least_ = least;
  most_ = most;
  const Uint128 extended = high < 0 ? ~Uint128{0} << 64 | static_cast<std::uint64_t>(high) : static_cast<Uint128>(high);
  sum_ += (extended << 32) + low;
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
  constexpr std::int32_t kInfinity = 0x7F800000;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  std::int32_t magnitude = 0;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    least = std::min(least, ordered(bits));
    most = std::max(most, ordered(bits));
    magnitude = std::max(magnitude, bits & 0x7FFFFFFF);
  }
  if (magnitude >= kInfinity) return add_each(values);
  least_ = std::min(least_, static_cast<double>(std::bit_cast<float>(ordered(least))));
  most_ = std::max(most_, static_cast<double>(std::bit_cast<float>(ordered(most))));
  // Four sums, because each addition to a single sum would wait for the one before.
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += static_cast<double>(values[i + lane]);
  }
  for (; i < values.size(); ++i) sums[0] += static_cast<double>(values[i]);
  sum_.add((sums[0] + sums[1]) + (sums[2] + sums[3]));
  finite_ += values.size();
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
