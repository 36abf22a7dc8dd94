// SPDX-License-Identifier: Apache-2.0
// Conversion of text that may not be UTF-8 to Python's strings.
#pragma once

#include <string_view>

#include <pybind11/pybind11.h>

namespace dovetail::python {

/// A name of the file system. `os.fsencode` gives its bytes back.
inline pybind11::str path_text(std::string_view path) {
  auto text = pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
  if (!text) throw pybind11::error_already_set();
  return text;
}

/// A message, which may contain names that are not UTF-8. The result can be printed anywhere.
inline pybind11::str message_text(std::string_view message) {
  auto text = pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  if (!text) throw pybind11::error_already_set();
  return text;
}

}  // namespace dovetail::python
