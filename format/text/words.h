// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace dovetail::format {

/// The words for the values of an enumeration, in the order in which help texts list them.
template <class Value, std::size_t kCount>
using Words = std::array<std::pair<std::string_view, Value>, kCount>;

/// The word for `value`; "unknown" if it has none.
template <class Value, std::size_t kCount>
constexpr std::string_view word_of(const Words<Value, kCount>& words, Value value) noexcept {
  for (const auto& [word, meaning] : words) {
    if (meaning == value) return word;
  }
  return "unknown";
}

/// The value of `word`; empty for other words.
template <class Value, std::size_t kCount>
constexpr std::optional<Value> value_of(const Words<Value, kCount>& words, std::string_view word) noexcept {
  for (const auto& [known, meaning] : words) {
    if (known == word) return meaning;
  }
  return std::nullopt;
}

}  // namespace dovetail::format
