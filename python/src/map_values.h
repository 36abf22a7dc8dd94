// SPDX-License-Identifier: Apache-2.0
// Values of Python on their way into rows.
#pragma once

#include <cstddef>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/schema.h>
#include <dovetail/transform.h>
#include <pybind11/pybind11.h>

#include "python/src/gil.h"

namespace dovetail::python {

/// A view of the numbers in an object's memory. Keeps the object. All functions except `bytes()`
/// need the interpreter lock.
class Numbers {
 public:
  Numbers() = default;
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { let_go(); }
  /// Returns false if the object has no contiguous memory.
  bool get(pybind11::handle object);
  /// Gets a row of a column. Converts `value` first, by `fit` of `dovetail._map`, if it does not
  /// have the column's type and shape.
  void get_row(const Column& of, pybind11::handle value, const pybind11::object& fit);
  ByteView bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  void let_go();
  /// Whether the view has the type and the shape of a row.
  bool is_row_of(const Column& column) const noexcept;
  bool is(Dtype dtype) const noexcept;

  Py_buffer view_{};
  bool got_ = false;
};

[[noreturn]] void refuse_value(const Column& column, const std::string& expected, pybind11::handle value);

/// The items of any sequence, as a list or a tuple.
UserObject items_of(pybind11::handle sequence);

/// Writes `value` as the row of column number `column`. Errors: Python's exceptions, and those of
/// `RowWriter`.
void write_value(std::size_t column, const Column& of, pybind11::handle value, const pybind11::object& fit,
                 RowWriter& row);

}  // namespace dovetail::python
