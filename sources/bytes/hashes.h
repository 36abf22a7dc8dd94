// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/identity.h>

namespace dovetail::detail {

/// A hash of the bytes of a file, in the form of MosaicML's index.
class ContentHash {
 public:
  virtual ~ContentHash() = default;
  virtual void add(ByteView bytes) noexcept = 0;
  /// Hash of the bytes so far, in lower-case hexadecimal digits.
  virtual std::string hex() const = 0;
};

/// `xxh32`, `xxh64`, `xxh3_64`, `xxh128` or `xxh3_128`; null for other names.
std::unique_ptr<ContentHash> make_content_hash(std::string_view name);

/// XXH3 with 64 bits and a seed. Users rely on its values: splits and shuffles must never change.
std::uint64_t keyed_hash(ByteView bytes, std::uint64_t seed) noexcept;
/// XXH3 with 128 bits.
Hash128 hash128(ByteView bytes) noexcept;

/// The sort key of a shuffle: `keyed_hash` of source, place and ordinal as three 64-bit numbers,
/// little-endian.
std::uint64_t shuffle_key(std::uint64_t seed, std::uint64_t source, std::uint64_t place,
                          std::uint64_t ordinal) noexcept;

}  // namespace dovetail::detail
