// SPDX-License-Identifier: Apache-2.0
// Options from Python's values.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <pybind11/pybind11.h>

#include "format/text/words.h"
#include "python/src/arguments.h"
#include "python/src/gil.h"

namespace dovetail::python {

/// Converts to the type of an option. Errors: TypeError; `invalid_option` if only the range is
/// wrong.
template <class T>
T to_option(const char* name, pybind11::handle given) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!PyBool_Check(given.ptr())) {
      throw pybind11::type_error(std::string(name) + " must be True or False, not " + type_name(given));
    }
    return given.ptr() == Py_True;
  } else if constexpr (std::is_integral_v<T>) {
    const pybind11::object number = whole_number(name, given);
    try {
      return number.template cast<T>();
    } catch (const pybind11::cast_error&) {
      refuse(std::string(name) + "=" + std::string(pybind11::repr(number)) + ": it must be " +
             std::to_string(std::numeric_limits<T>::min()) + " to " + std::to_string(std::numeric_limits<T>::max()));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    if (const std::optional<double> number = real_number(given)) return static_cast<T>(*number);
    throw pybind11::type_error(std::string(name) + " must be a number, not " + type_name(given));
  } else {
    static_assert(std::is_same_v<T, std::string>);
    return to_utf8(name, given);
  }
}

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

/// The name of an option, and the function that sets it.
template <class Options>
struct OptionSetter {
  const char* name;
  void (*set)(Options& options, const char* name, pybind11::handle given);
};

/// Sets one option by its name. Returns false if the table does not have it.
template <class Options>
bool set_option(std::span<const OptionSetter<Options>> table, Options& options, std::string_view name,
                pybind11::handle given) {
  for (const OptionSetter<Options>& setter : table) {
    if (setter.name != name) continue;
    if (!given.is_none()) setter.set(options, setter.name, given);
    return true;
  }
  return false;
}

/// The names of a table's options, for `refuse_option`.
template <class Options>
std::string option_names(std::span<const OptionSetter<Options>> table) {
  std::string names;
  for (const OptionSetter<Options>& setter : table) names += (names.empty() ? "" : ", ") + std::string(setter.name);
  return names;
}

[[noreturn]] inline void refuse_option(pybind11::handle name, const std::string& names) {
  const pybind11::object why = import_module("dovetail._names").attr("no_option");
  throw pybind11::type_error(pybind11::str(call_object(why, name, pybind11::str(names).attr("split")(", "))));
}

/// The name of a keyword argument. Empty, which is no option, if UTF-8 cannot encode it.
inline std::string option_name(pybind11::handle name) {
  const char* const text = PyUnicode_AsUTF8(name.ptr());
  if (text != nullptr) return text;
  PyErr_Clear();
  return {};
}

/// The field that is reached by pointers to members, one after the other.
template <auto kField, auto... kOfField, class Options>
auto& field_of(Options& options) {
  if constexpr (sizeof...(kOfField) == 0) {
    return options.*kField;
  } else {
    return field_of<kOfField...>(options.*kField);
  }
}

template <class T>
T type_of_value(const T& field);
template <class T>
T type_of_value(const std::optional<T>& field);

/// A setter for a field, such as `&Outer::inner, &Inner::field`, of a type that `to_option`
/// supports.
template <auto... kPath, class Options>
void set_field(Options& options, const char* name, pybind11::handle given) {
  auto& field = field_of<kPath...>(options);
  field = to_option<decltype(type_of_value(field))>(name, given);
}

/// A setter for a field of an enumeration.
template <const auto& kWords, auto... kPath, class Options>
void set_word(Options& options, const char* name, pybind11::handle given) {
  field_of<kPath...>(options) = from_word(name, given, kWords);
}

/// A setter that adds the items of a list of strings to a field.
template <auto... kPath, class Options>
void add_texts(Options& options, const char* name, pybind11::handle given) {
  for (const pybind11::object& each : to_items(name, given, "a list of strings")) {
    field_of<kPath...>(options).push_back(to_utf8("an item of " + std::string(name), each));
  }
}

}  // namespace dovetail::python
