// SPDX-License-Identifier: Apache-2.0
// Checks of arguments. pybind11 would reject these with exceptions other than those that this
// package documents.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/error.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl/filesystem.h>

#include "python/src/gil.h"

namespace dovetail::python {

/// Raises `UsageError`: other arguments would help.
[[noreturn]] inline void refuse(const std::string& why) {
  throw Exception(Error(Errc::invalid_option, why));
}

inline std::string type_name(pybind11::handle object) {
  return pybind11::str(pybind11::type::handle_of(object).attr("__name__"));
}

/// Errors: TypeError for objects other than strings, `invalid_option` for strings that UTF-8 cannot
///         encode.
inline std::string to_utf8(const std::string& name, pybind11::handle given) {
  if (PyUnicode_Check(given.ptr()) == 0)
    throw pybind11::type_error(name + " must be a string, not " + type_name(given));
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    refuse(name + " is not UTF-8: " + std::string(pybind11::repr(given)) + " has lone surrogates");
  }
  return {text, static_cast<std::size_t>(size)};
}

/// Errors: TypeError for objects that are not paths.
inline std::filesystem::path to_path(const std::string& name, pybind11::handle given) {
  const auto path = pybind11::reinterpret_steal<pybind11::object>(call_python(PyOS_FSPath, given.ptr()));
  if (!path) forget_error({PyExc_TypeError});
  try {
    if (path) return path.cast<std::filesystem::path>();
  } catch (const pybind11::cast_error&) {  // null characters
  }
  throw pybind11::type_error(name + " must be a str, bytes or os.PathLike without null characters, not " +
                             type_name(given));
}

/// Whether the object maps keys to values. Iteration over it gives only the keys. Python takes all
/// such classes but dict for sequences.
inline bool is_mapping(pybind11::handle given) {
  if (PyList_Check(given.ptr()) != 0 || PyTuple_Check(given.ptr()) != 0) return false;
  const pybind11::object mapping = import_module("collections.abc").attr("Mapping");
  const int answer = call_python(PyObject_IsInstance, given.ptr(), mapping.ptr());
  if (answer < 0) throw pybind11::error_already_set();
  return answer != 0;
}

/// The items of any sequence except str and bytes. Errors: TypeError, which names `what` as the
/// expected type.
inline std::vector<pybind11::object> to_items(const std::string& name, pybind11::handle given,
                                              const std::string& what) {
  const bool text = PyUnicode_Check(given.ptr()) != 0 || PyBytes_Check(given.ptr()) != 0;
  pybind11::object walk;
  if (!text && PySequence_Check(given.ptr()) != 0 && !is_mapping(given)) {
    walk = pybind11::reinterpret_steal<pybind11::object>(call_python(PyObject_GetIter, given.ptr()));
    if (!walk) forget_error({PyExc_TypeError});
  }
  if (!walk) throw pybind11::type_error(name + " must be " + what + ", not " + type_name(given));
  std::vector<pybind11::object> items;
  while (auto item = pybind11::reinterpret_steal<pybind11::object>(call_python(PyIter_Next, walk.ptr()))) {
    items.push_back(std::move(item));
  }
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return items;
}

/// Errors: TypeError for objects that are not whole numbers.
inline pybind11::object whole_number(const std::string& name, pybind11::handle given) {
  if (PyIndex_Check(given.ptr()) == 0) {
    throw pybind11::type_error(name + " must be a whole number, not " + type_name(given));
  }
  auto number = pybind11::reinterpret_steal<pybind11::object>(call_python(PyNumber_Index, given.ptr()));
  if (!number) throw pybind11::error_already_set();
  return number;
}

/// The object as a number; empty if it is none, or too large.
inline std::optional<double> real_number(pybind11::handle given) {
  const double number = call_python(PyFloat_AsDouble, given.ptr());
  if (number != -1 || PyErr_Occurred() == nullptr) return number;
  forget_error({PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError});
  return std::nullopt;
}

/// An index among `count`. A negative index counts from the end, as in Python's sequences. Errors:
/// TypeError, IndexError.
inline std::size_t to_place(const char* name, pybind11::handle given, std::size_t count) {
  const pybind11::object number = whole_number(name, given);
  const auto size = static_cast<Py_ssize_t>(count);
  // Without an exception type, this clamps numbers that are out of range.
  const Py_ssize_t place = PyNumber_AsSsize_t(number.ptr(), nullptr);
  if (place < -size || place >= size) {
    throw pybind11::index_error(std::string(name) + " " + std::string(pybind11::repr(number)) + " of " +
                                std::to_string(count));
  }
  return static_cast<std::size_t>(place < 0 ? place + size : place);
}

}  // namespace dovetail::python
