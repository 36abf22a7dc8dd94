// SPDX-License-Identifier: Apache-2.0
// Consecutive varints, as in packed lists of integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/schema.h>

namespace dovetail::format {

/// Counts the varints. Returns nothing if a varint is cut off or has more than 10 bytes.
std::optional<std::uint64_t> count_packed_ints(ByteView packed) noexcept;

/// The ways to unpack. All ways give the same result.
enum class UnpackWay : std::uint8_t {
  portable,  ///< One number at a time.
  shuffled,  ///< Up to four numbers of up to four bytes at once; for x86 with SSSE3 and POPCNT, Arm.
  wide,      ///< Up to 16 such numbers at once, for dtypes of 4 or 8 bytes; for x86 with AVX-512 VBMI2.
};

/// Returns the ways that this processor has, the fastest last. The functions without `way` use the
/// fastest.
std::span<const UnpackWay> unpack_ways() noexcept;

/// Writes all varints as numbers of `dtype` and returns their count. Returns nothing if a varint is
/// malformed or does not fit the dtype. Needs: a dtype of integers, and room for as many numbers as
/// `packed` has bytes.
std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to) noexcept;
std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to, UnpackWay way) noexcept;

/// Writes all varints as numbers of `dtype`. Returns false unless there are exactly `count`, all
/// well-formed, and all fit the dtype. May have written some numbers even then. Needs: a dtype of
/// integers, and room for `count` numbers.
bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count) noexcept;
bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count, UnpackWay way) noexcept;

}  // namespace dovetail::format
