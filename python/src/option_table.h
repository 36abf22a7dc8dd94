// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <pybind11/pybind11.h>

namespace dovetail::python {

/// A value of the type that an option has. Errors: TypeError, or ValueError where only the range is wrong.
template <class T>
T to_option(const char* name, pybind11::handle given) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!PyBool_Check(given.ptr())) throw pybind11::type_error(std::string(name) + " must be True or False");
    return given.ptr() == Py_True;
  } else if constexpr (std::is_integral_v<T>) {
    if (PyIndex_Check(given.ptr()) == 0) throw pybind11::type_error(std::string(name) + " must be a whole number");
    const auto number = pybind11::reinterpret_steal<pybind11::object>(PyNumber_Index(given.ptr()));
    if (!number) throw pybind11::error_already_set();
    try {
      return number.template cast<T>();
    } catch (const pybind11::cast_error&) {
      throw pybind11::value_error(std::string(name) + "=" + std::string(pybind11::str(number)) + ": it must be " +
                                  std::to_string(std::numeric_limits<T>::min()) + " to " +
                                  std::to_string(std::numeric_limits<T>::max()));
    }
  } else {
    try {
      return given.cast<T>();
    } catch (const pybind11::cast_error&) {
      throw pybind11::type_error(std::string(name) + " has the wrong type: " +
                                 std::string(pybind11::str(pybind11::type::handle_of(given).attr("__name__"))));
    }
  }
}

/// How one option is set.
template <class Options>
struct OptionSetter {
  const char* name;
  void (*set)(Options& options, const char* name, pybind11::handle given);
};

/// Sets one option by its name; false where the table has none of it.
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

[[noreturn]] inline void refuse_option(const std::string& name) {
  throw pybind11::type_error("there is no option \"" + name + "\"");
}

/// For a field that takes what `to_option` gives.
template <auto kField, class Options>
void set_field(Options& options, const char* name, pybind11::handle given) {
  auto& field = options.*kField;
  field = to_option<std::remove_reference_t<decltype(field)>>(name, given);
}

}  // namespace dovetail::python
