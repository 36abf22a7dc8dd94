// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <dovetail/bytes.h>
#include <pybind11/pybind11.h>

#include "python/src/arguments.h"
#include "python/src/gil.h"

namespace dovetail::python {

/// The bytes of a bytes-like object, which is kept in place. All functions except `bytes()` need
/// the interpreter lock.
class Buffer {
 public:
  /// Errors: TypeError for objects without bytes, and for arrays of Python objects, whose bytes are
  ///         addresses. BufferError or ValueError for bytes that are not contiguous.
  explicit Buffer(pybind11::handle object) : Buffer() {  // so that the destructor runs after an error
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
      const char* const remedy = is_mapping(object)                   ? "; dovetail.example(**record) makes it bytes"
                                 : PyUnicode_Check(object.ptr()) != 0 ? "; text.encode() makes it bytes"
                                                                      : "";
      throw pybind11::type_error("a record must be bytes or bytes-like, not " + type_name(object) + remedy);
    }
    if (call_python(PyObject_GetBuffer, object.ptr(), &view_, PyBUF_ND | PyBUF_FORMAT) != 0) {
      forget_error({PyExc_Exception});  // NumPy cannot give the format of some dtypes, such as datetime64
      if (call_python(PyObject_GetBuffer, object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw pybind11::error_already_set();
    }
    if (!holds_objects(object)) return;
    throw pybind11::type_error(
        "a record must be bytes or bytes-like, not an array of Python objects; give the bytes of each");
  }
  Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (view_.obj != nullptr) call_python(PyBuffer_Release, &view_);
  }

  ByteView bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Buffer() = default;
  bool holds_objects(pybind11::handle object) const {
    if (view_.format == nullptr) {
      const pybind11::object dtype = find_attribute(object, "dtype");
      return dtype && find_attribute(dtype, "hasobject").is(pybind11::bool_(true));
    }
    bool in_name = false;  // in the name of a field, which is between colons
    for (const char letter : std::string_view(view_.format)) {
      if (letter == ':') in_name = !in_name;
      if (letter == 'O' && !in_name) return true;
    }
    return false;
  }

  Py_buffer view_{};
};

}  // namespace dovetail::python
