// SPDX-License-Identifier: Apache-2.0
// Enumerators as Python strings.
#pragma once

#include <cstddef>
#include <string>

#include <pybind11/pybind11.h>

#include "format/text/words.h"
#include "python/src/arguments.h"

namespace dovetail::python {

/// Errors: TypeError for objects other than strings, `invalid_option` for other words; both name
///         the valid words.
template <class Value, std::size_t kCount>
Value from_word(const char* name, pybind11::handle given, const format::Words<Value, kCount>& words) {
  std::string choices;
  for (const auto& [word, value] : words) choices += (choices.empty() ? "" : ", ") + ('"' + std::string(word) + '"');
  if (!pybind11::isinstance<pybind11::str>(given)) {
    throw pybind11::type_error(std::string(name) + " must be one of " + choices);
  }
  const std::string text = to_utf8(name, given);
  if (const auto value = format::value_of(words, text)) return *value;
  refuse(std::string(name) + "=\"" + text + "\": it must be one of " + choices);
}

}  // namespace dovetail::python
