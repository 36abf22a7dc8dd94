// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/keyed_hash.h"

#include <array>
#include <cstddef>

// Compiles xxHash from its header, so that programs need not link its library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/endian.h"

namespace dovetail::detail {

std::uint64_t keyed_hash(ByteView bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash128(ByteView bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::uint64_t shuffle_key(std::uint64_t seed, std::uint64_t source, std::uint64_t place,
                          std::uint64_t ordinal) noexcept {
  std::array<std::byte, 24> bytes;
  format::store_le(bytes.data(), source);
  format::store_le(bytes.data() + 8, place);
  format::store_le(bytes.data() + 16, ordinal);
  return keyed_hash(bytes, seed);
}

}  // namespace dovetail::detail
