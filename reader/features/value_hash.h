// SPDX-License-Identifier: Apache-2.0
// Keys of 64 bits for the values of features, and their hashes.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace dovetail::detail {

/// A hash of a word, uniform over 64 bits: the finaliser of MurmurHash3. Different words have
/// different hashes.
constexpr std::uint64_t mix_bits(std::uint64_t word) noexcept {
  word ^= word >> 33;
  word *= 0xFF51AFD7ED558CCD;
  word ^= word >> 33;
  word *= 0xC4CEB9FE1A85EC53;
  return word ^ word >> 33;
}

/// A hash of a word, uniform over 32 bits: the least biased known with two multiplications
/// (Wellons, "Prospecting for Hash Functions", and its repository). Different words have different
/// hashes.
constexpr std::uint32_t mix_bits(std::uint32_t word) noexcept {
  word ^= word >> 16;
  word *= 0x21F0AAAD;
  word ^= word >> 15;
  word *= 0xD35A2D97;
  return word ^ word >> 15;
}

/// The bits of a float. All NaNs have the same bits, and so have both zeros.
inline std::uint32_t float_bits(float value) noexcept {
  value += 0.0F;  // -0 becomes 0
  return value != value ? 0x7FC00000 : std::bit_cast<std::uint32_t>(value);
}

/// The key of a number: its bits, those of a float as a double. All NaNs have one key, and both
/// zeros have one key.
inline std::uint64_t key_of(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value);
}
inline std::uint64_t key_of(double value) noexcept {
  value += 0.0;
  return value != value ? 0x7FF8000000000000 : std::bit_cast<std::uint64_t>(value);
}

/// The first half of the hash of a float. It decides nearly always. It has 32 bits because a
/// processor computes twice as many of these at once.
inline std::uint32_t first_half_of_hash(float value) noexcept {
  return mix_bits(float_bits(value));
}
/// The whole hash.
inline std::uint64_t hash_of_half(std::uint32_t first) noexcept {
  return std::uint64_t{first} << 32 | mix_bits(~first);
}
inline std::uint64_t hash_of(float value) noexcept {
  return hash_of_half(first_half_of_hash(value));
}
/// The same hash if a float has the value. Needs: a value that is not finite, or within the range
/// of a float.
inline std::uint64_t hash_of(double value) noexcept {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value || value != value ? hash_of(narrow) : mix_bits(key_of(value));
}

/// A hash of a text, uniform over 64 bits.
std::uint64_t hash_bytes(std::string_view text) noexcept;

}  // namespace dovetail::detail
