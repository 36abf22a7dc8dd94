// SPDX-License-Identifier: Apache-2.0
#include "python/src/map_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "python/src/arguments.h"
#include "python/src/buffer.h"

namespace dovetail::python {

namespace py = pybind11;

namespace {

/// The bytes of a text; empty if `text` is no text. They are valid while `held` exists.
std::optional<ByteView> characters(py::handle text, std::deque<Buffer>& held) {
  if (PyUnicode_Check(text.ptr())) {
    Py_ssize_t size = 0;
    const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (utf8 == nullptr) throw py::error_already_set();
    return as_bytes({utf8, static_cast<std::size_t>(size)});
  }
  if (!PyBytes_Check(text.ptr()) && !PyByteArray_Check(text.ptr()) && !PyMemoryView_Check(text.ptr())) return {};
  return held.emplace_back(text).bytes();
}

template <class T>
bool copy_number(T number, std::span<std::byte> to) noexcept {
  std::memcpy(to.data(), &number, sizeof(number));
  return true;
}

/// Sets a column of one number per row from an int or a float, which is the most frequent case.
/// Returns false in all other cases.
bool set_plain(std::size_t column, Dtype dtype, PyObject* value, RowWriter& row) {
  if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AS_DOUBLE(value);
    if (dtype == Dtype::f64) return copy_number(number, row.bytes(column));
    const bool fits = !std::isfinite(number) || std::abs(number) <= std::numeric_limits<float>::max();
    return dtype == Dtype::f32 && fits && copy_number(static_cast<float>(number), row.bytes(column));
  }
  if (!PyLong_CheckExact(value) || dtype != Dtype::i64) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0 && copy_number(static_cast<std::int64_t>(number), row.bytes(column));
}

void write_texts(std::size_t column, const Column& of, py::handle value, RowWriter& row) {
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) {
    refuse_value(of, "a list of bytes or str", value);
  }
  const UserObject items = items_of(value);
  std::vector<std::string_view> texts;
  std::deque<Buffer> held;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    const py::handle item = PySequence_Fast_GET_ITEM(items.ptr(), i);
    const std::optional<ByteView> text = characters(item, held);
    if (!text.has_value()) refuse_value(of, "a list of bytes or str", item);
    texts.push_back(as_chars(*text));
  }
  row.set_texts(column, texts).value();
}

}  // namespace

bool Numbers::get(py::handle object) {
  let_go();
  got_ = call_python(PyObject_GetBuffer, object.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0;
  if (!got_) forget_error({PyExc_Exception});
  return got_;
}

void Numbers::get_row(const Column& of, py::handle value, const py::object& fit) {
  if (get(value) && is_row_of(of)) return;
  const UserObject fitted =
      call_object(fit, value, of.name, std::string(to_text(of.dtype)), py::tuple(py::cast(of.shape)), of.ragged);
  if (!get(fitted)) throw py::type_error("column \"" + of.name + "\" must be numbers, not " + type_name(value));
}

void Numbers::let_go() {
  if (std::exchange(got_, false)) call_python(PyBuffer_Release, &view_);
}

bool Numbers::is_row_of(const Column& column) const noexcept {
  const int items = column.ragged ? 1 : 0;
  if (view_.ndim != items + static_cast<int>(column.shape.size()) || !is(column.dtype)) return false;
  return std::equal(column.shape.begin(), column.shape.end(), view_.shape + items,
                    [](std::uint32_t size, Py_ssize_t there) { return static_cast<Py_ssize_t>(size) == there; });
}

bool Numbers::is(Dtype dtype) const noexcept {
  std::string_view format = view_.format == nullptr ? "B" : view_.format;
  if (!format.empty() && (format.front() == '@' || format.front() == '=' || format.front() == '<')) {
    format.remove_prefix(1);
  }
  if (format.size() != 1 || view_.itemsize != static_cast<Py_ssize_t>(dtype_bytes(dtype))) return false;
  const std::string_view kinds = to_text(dtype).front() == 'u'   ? "BHILQ"
                                 : to_text(dtype).front() == 'i' ? "bhilq"
                                                                 : "efd";
  return kinds.find(format.front()) != kinds.npos;
}

void refuse_value(const Column& column, const std::string& expected, py::handle value) {
  throw py::type_error("column \"" + column.name + "\" must be " + expected + ", not " + type_name(value));
}

UserObject items_of(py::handle sequence) {
  UserObject items = py::reinterpret_steal<py::object>(call_python(PySequence_Fast, sequence.ptr(), "not a sequence"));
  if (!items) throw py::error_already_set();
  return items;
}

void write_value(std::size_t column, const Column& of, py::handle value, const py::object& fit, RowWriter& row) {
  if (of.dtype == Dtype::bytes) {
    if (of.ragged) return write_texts(column, of, value, row);
    std::deque<Buffer> held;
    const std::optional<ByteView> text = characters(value, held);
    if (!text.has_value()) refuse_value(of, "bytes or str", value);
    row.set(column, *text).value();
    return;
  }
  if (of.shape.empty() && !of.ragged && set_plain(column, of.dtype, value.ptr(), row)) return;
  Numbers numbers;
  numbers.get_row(of, value, fit);
  row.set(column, numbers.bytes()).value();
}

}  // namespace dovetail::python
