// SPDX-License-Identifier: Apache-2.0
#include "python/src/kept_objects.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "python/src/gil.h"

namespace dovetail::python {

namespace py = pybind11;

KeptObjects::KeptObjects(const py::object& function) {
  if (py::isinstance(function, import_module("dovetail._objects").attr("KeptObjects")))
    dict_ = py::object(function.attr("kept"));
}

void KeptObjects::give(PyBatch& batch) const {
  PyObject* const kept = dict_.ptr();
  if (kept == nullptr) return;
  const std::span<const std::int64_t> numbers = batch->column(std::size_t{0}).as<std::int64_t>();
  auto objects = py::reinterpret_steal<py::object>(PyList_New(static_cast<Py_ssize_t>(numbers.size())));
  if (!objects) throw py::error_already_set();
  std::vector<py::object> keys;
  keys.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    keys.push_back(py::reinterpret_steal<py::object>(PyLong_FromLongLong(numbers[i])));
    PyObject* const found = keys.back() ? PyDict_GetItemWithError(kept, keys.back().ptr()) : nullptr;
    if (found == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (found == nullptr && numbers[i] != 0) refuse_moved();
    PyObject* const object = found == nullptr ? Py_None : found;  // 0 is the number of rows without a record
    Py_INCREF(object);
    PyList_SET_ITEM(objects.ptr(), static_cast<Py_ssize_t>(i), object);
  }
  for (const py::object& key : keys) {
    if (PyDict_DelItem(kept, key.ptr()) != 0) PyErr_Clear();  // a substituted row has the number of another
  }
  batch.objects = std::move(objects);
}

void KeptObjects::drop() const noexcept {
  if (dict_) call_python(PyDict_Clear, dict_.ptr());
}

}  // namespace dovetail::python
