// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include <dovetail/export.h>

namespace dovetail {

/// A view of bytes that somebody else owns.
using ByteView = std::span<const std::byte>;

/// The bytes of a string. Ownership: borrows `text`.
inline ByteView as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Strings, views and literals. Excluded are null and writable arrays, which do not mark the end of
/// a text.
template <class T>
concept Text = std::convertible_to<T, std::string_view> && !std::same_as<std::remove_cvref_t<T>, std::nullptr_t> &&
               (!std::is_array_v<std::remove_reference_t<T>> || std::is_const_v<std::remove_reference_t<T>>);

/// The same bytes as characters. Ownership: borrows `bytes`.
inline std::string_view as_chars(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace dovetail
