// SPDX-License-Identifier: Apache-2.0
// Varints one behind the other, as packed lists of integers have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/schema.h>

namespace dovetail::format {

/// How many there are; nothing where one is cut off or has more than 10 bytes.
std::optional<std::uint64_t> count_packed_ints(ByteView packed) noexcept;

/// How they are unpacked; all ways give the same.
enum class UnpackWay : std::uint8_t {
  portable,  ///< One after the other.
  shuffled,  ///< Those of up to four bytes as many at once as end in four bytes; x86 with SSSE3 and
             ///< POPCNT, Arm.
};

/// The ways that this processor has, the fastest one last: it is used where none is named.
std::span<const UnpackWay> unpack_ways() noexcept;

/// Writes all of them, as numbers of `dtype`, and gives how many there are; nothing where one is malformed, or does not fit the
/// dtype. Needs: a dtype of integers, and room for as many numbers as there are bytes.
std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to) noexcept;
std::optional<std::uint64_t> unpack_all_ints(ByteView packed, Dtype dtype, std::byte* to, UnpackWay way) noexcept;

/// Writes all of them, as numbers of `dtype`. False where there are not exactly `count`, one is malformed, or one does not fit
/// the dtype; something may be written even so. Needs: a dtype of integers, and room for `count` of them.
bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count) noexcept;
bool unpack_ints(ByteView packed, Dtype dtype, std::byte* to, std::uint64_t count, UnpackWay way) noexcept;

}  // namespace dovetail::format
