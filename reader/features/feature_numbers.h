// SPDX-License-Identifier: Apache-2.0
// The numbers of a feature, and their minimum, maximum and sum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "format/example/example_wire.h"
#include "reader/features/exact_sum.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {

inline constexpr std::size_t kPieceValues = 1024;

/// The numbers of a checked feature in pieces, so that loops over them are tight. Packed lists, the
/// usual form, are unpacked in bulk.
///
/// Ownership: borrows the record. A piece is valid until the next one.
/// Needs:     call the `next` function of the feature's own kind.
class NumberPieces {
 public:
  explicit NumberPieces(const format::FeatureView& feature) noexcept;

  // These return an empty span at the end.
  std::span<const std::int64_t> next_ints() noexcept;
  std::span<const float> next_floats() noexcept;

 private:
  // One of these holds the piece.
  std::array<std::int64_t, kPieceValues> ints_;
  std::array<float, kPieceValues> floats_;
  ByteView rest_;                                // packed numbers that are left
  std::optional<format::FeatureValues> values_;  // for lists that are not packed
};

/// Minimum, maximum and sum of integers, exact in any order.
class IntRange {
 public:
  void add(std::int64_t value) noexcept {
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
    sum_ += extended(value);
  }
  void add(std::span<const std::int64_t> values) noexcept;
  void add(const IntRange& other) noexcept;

  // Needs: at least one number was added.
  std::int64_t least() const noexcept { return least_; }
  std::int64_t most() const noexcept { return most_; }
  double sum() const noexcept;

 private:
  static Uint128 extended(std::int64_t value) noexcept {
    return (value < 0 ? ~Uint128{0} << 64 : 0) | static_cast<std::uint64_t>(value);
  }

  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_ = std::numeric_limits<std::int64_t>::min();
  Uint128 sum_ = 0;  // two's complement
};

/// Minimum, maximum and sum of the finite numbers among some floats, and the count of the others.
/// The floats of one list are added as doubles. The sums of lists are added exactly, so the order
/// of lists does not matter.
class FloatRange {
 public:
  void add(std::span<const float> values) noexcept;
  /// Adds the floats of up to `kMostSingles` lists of one float.
  static constexpr std::size_t kMostSingles = 128;
  void add_singles(std::span<const float> values) noexcept;
  /// Needs: each number is not finite, or within the range of a float.
  void add(std::span<const double> values) noexcept;
  void add(const FloatRange& other) noexcept;

  // Needs: at least one finite number was added.
  double least() const noexcept { return least_; }
  double most() const noexcept { return most_; }
  double sum() const noexcept { return sum_.value(); }

  std::uint64_t finite() const noexcept { return finite_; }
  std::uint64_t nans() const noexcept { return nans_; }
  std::uint64_t infinities() const noexcept { return infinities_; }

 private:
  template <class Float>
  void add_each(std::span<const Float> values) noexcept;

  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
  ExactSum sum_;
  std::uint64_t finite_ = 0;
  std::uint64_t nans_ = 0;
  std::uint64_t infinities_ = 0;
};

}  // namespace dovetail::detail
