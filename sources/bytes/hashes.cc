// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/hashes.h"

#include <array>
#include <cstddef>
#include <cstdint>

// Compiles xxHash from its header, so that programs need not link its library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/endian.h"

namespace dovetail::detail {

namespace {

std::string hex_of(std::uint64_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

class Hash32 final : public ContentHash {
 public:
  Hash32() { XXH32_reset(&state_, 0); }
  void add(ByteView bytes) noexcept override { XXH32_update(&state_, bytes.data(), bytes.size()); }
  std::string hex() const override { return hex_of(XXH32_digest(&state_), 8); }

 private:
  XXH32_state_t state_;
};

class Hash64 final : public ContentHash {
 public:
  Hash64() { XXH64_reset(&state_, 0); }
  void add(ByteView bytes) noexcept override { XXH64_update(&state_, bytes.data(), bytes.size()); }
  std::string hex() const override { return hex_of(XXH64_digest(&state_), 16); }

 private:
  XXH64_state_t state_;
};

class Hash3 final : public ContentHash {
 public:
  explicit Hash3(bool wide) : wide_(wide) { wide ? XXH3_128bits_reset(&state_) : XXH3_64bits_reset(&state_); }
  void add(ByteView bytes) noexcept override {
    wide_ ? XXH3_128bits_update(&state_, bytes.data(), bytes.size())
          : XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  std::string hex() const override {
    if (!wide_) return hex_of(XXH3_64bits_digest(&state_), 16);
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return hex_of(hash.high64, 16) + hex_of(hash.low64, 16);
  }

 private:
  bool wide_;
  XXH3_state_t state_;
};

}  // namespace

std::unique_ptr<ContentHash> make_content_hash(std::string_view name) {
  if (name == "xxh32") return std::make_unique<Hash32>();
  if (name == "xxh64") return std::make_unique<Hash64>();
  if (name == "xxh3_64") return std::make_unique<Hash3>(false);
  if (name == "xxh128" || name == "xxh3_128") return std::make_unique<Hash3>(true);
  return nullptr;
}

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
