// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dovetail::format {

/// Reads an unsigned integer in little-endian order. Needs: `sizeof(T)` bytes at `from`, at any
/// alignment.
template <class T>
requires std::is_unsigned_v<T>
inline T load_le(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (std::endian::native == std::endian::big) {
    T swapped = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) swapped = static_cast<T>((swapped << 8) | ((value >> (8 * i)) & 0xFF));
    return swapped;
  }
  return value;
}

/// Writes an unsigned integer in little-endian order.
template <class T>
requires std::is_unsigned_v<T>
inline void store_le(std::byte* to, T value) noexcept {
  if constexpr (std::endian::native == std::endian::big) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>((value >> (8 * i)) & 0xFF);
  } else {
    std::memcpy(to, &value, sizeof(T));
  }
}

}  // namespace dovetail::format
