// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <dovetail/bytes.h>
#include <pybind11/pybind11.h>

#include "python/src/arguments.h"

namespace dovetail::python {

/// The bytes of a bytes-like object, kept in place. Needs the interpreter lock but for `bytes()`.
class Buffer {
 public:
  /// Errors: TypeError for what has no contiguous bytes.
  explicit Buffer(pybind11::handle object) {
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
      throw pybind11::type_error("a record is bytes or bytes-like, not " + type_name(object));
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw pybind11::error_already_set();
  }
  Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }

  ByteView bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

}  // namespace dovetail::python
