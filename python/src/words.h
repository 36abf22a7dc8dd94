// SPDX-License-Identifier: Apache-2.0
// Enumerators as Python strings.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <pybind11/pybind11.h>

#include "python/src/arguments.h"

namespace dovetail::python {

template <class Value, std::size_t kCount>
using Words = std::array<std::pair<std::string_view, Value>, kCount>;

/// Errors: TypeError for objects other than strings, `invalid_option` for other words; both name
///         the valid words.
template <class Value, std::size_t kCount>
Value from_word(const char* name, pybind11::handle given, const Words<Value, kCount>& words) {
  std::string choices;
  for (const auto& [word, value] : words) choices += (choices.empty() ? "" : ", ") + ('"' + std::string(word) + '"');
  if (!pybind11::isinstance<pybind11::str>(given)) {
    throw pybind11::type_error(std::string(name) + " must be one of " + choices);
  }
  const std::string text = to_utf8(name, given);
  for (const auto& [word, value] : words) {
    if (word == text) return value;
  }
  refuse(std::string(name) + "=\"" + text + "\": it must be one of " + choices);
}

/// Needs: `words` has the value.
template <class Value, std::size_t kCount>
std::string_view to_word(Value value, const Words<Value, kCount>& words) {
  for (const auto& [word, meaning] : words) {
    if (meaning == value) return word;
  }
  return {};
}

}  // namespace dovetail::python
