// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/bytes.h>
#include <dovetail/identity.h>

namespace dovetail::detail {

/// XXH3 with 64 bits and a seed. Users rely on its values: splits and shuffles must never change.
std::uint64_t keyed_hash(ByteView bytes, std::uint64_t seed) noexcept;
/// XXH3 with 128 bits.
Hash128 hash128(ByteView bytes) noexcept;

/// The sort key of a shuffle: `keyed_hash` of source, place and ordinal as three 64-bit numbers,
/// little-endian.
std::uint64_t shuffle_key(std::uint64_t seed, std::uint64_t source, std::uint64_t place,
                          std::uint64_t ordinal) noexcept;

}  // namespace dovetail::detail
