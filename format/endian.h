// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace dovetail::format {

static_assert(std::endian::native == std::endian::little, "Dovetail needs a little-endian machine");

/// Reads an unsigned integer in little-endian order. Needs: `sizeof(T)` bytes at `from`, at any
/// alignment.
template <class T>
requires std::is_unsigned_v<T>
inline T load_le(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Writes an unsigned integer in little-endian order.
template <class T>
requires std::is_unsigned_v<T>
inline void store_le(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace dovetail::format
