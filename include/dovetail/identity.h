// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/export.h>

namespace dovetail {

/// A 128-bit id or sum. Not cryptographic: it detects accidents, not attacks.
struct DOVETAIL_EXPORT Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const Hash128&, const Hash128&) = default;

  /// Sum modulo 2^128.
  friend constexpr Hash128 operator+(Hash128 a, Hash128 b) noexcept {
    const std::uint64_t sum = a.low + b.low;
    return {a.high + b.high + (sum < a.low ? 1u : 0u), sum};
  }
  constexpr Hash128& operator+=(Hash128 other) noexcept { return *this = *this + other; }
  /// Difference modulo 2^128.
  friend constexpr Hash128 operator-(Hash128 a, Hash128 b) noexcept {
    return {a.high - b.high - (a.low < b.low ? 1u : 0u), a.low - b.low};
  }

  /// 32 lower-case hex digits, most significant first.
  std::string to_hex() const;
  /// Errors: `invalid_option` unless `text` is 32 hex digits.
  static Result<Hash128> from_hex(std::string_view text);
};

/// Identifies a dataset: all its shards carry it, and no shard of another dataset does.
struct DOVETAIL_EXPORT DatasetId {
  std::array<std::uint8_t, 16> bytes{};

  friend constexpr auto operator<=>(const DatasetId&, const DatasetId&) = default;

  /// From the system's random source.
  static DatasetId random();
  /// 32 lower-case hex digits, first byte first.
  std::string to_hex() const;
  /// Errors: `invalid_option` unless `text` is 32 hex digits.
  static Result<DatasetId> from_hex(std::string_view text);
};

}  // namespace dovetail
