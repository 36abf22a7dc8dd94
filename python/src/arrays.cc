// SPDX-License-Identifier: Apache-2.0
#include "python/src/arrays.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <dlpack/dlpack.h>

#include "python/src/gil.h"

namespace dovetail::python {

namespace py = pybind11;

namespace {

/// Functions of NumPy's C API.
struct NumpyApi {
  PyTypeObject* array_type;
  PyObject* (*dtype_from_number)(int);
  PyObject* (*from_any)(PyObject*, PyObject*, int, int, int, PyObject*);
  PyObject* (*new_array)(PyTypeObject*, PyObject*, int, const Py_intptr_t*, const Py_intptr_t*, void*, int, PyObject*);
  int (*set_base)(PyObject*, PyObject*);
};

NumpyApi load_numpy() {
  const py::object numpy = import_module("numpy");
  // NumPy 2 renamed `numpy.core`.
  const bool renamed = call_python(PyObject_HasAttrString, numpy.ptr(), "_core") != 0;
  const py::object table =
      import_module(renamed ? "numpy._core._multiarray_umath" : "numpy.core._multiarray_umath").attr("_ARRAY_API");
  auto* const places = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
  if (places == nullptr) throw py::error_already_set();
  // All versions have them at these places.
  return {.array_type = static_cast<PyTypeObject*>(places[2]),
          .dtype_from_number = reinterpret_cast<decltype(NumpyApi::dtype_from_number)>(places[45]),
          .from_any = reinterpret_cast<decltype(NumpyApi::from_any)>(places[69]),
          .new_array = reinterpret_cast<decltype(NumpyApi::new_array)>(places[94]),
          .set_base = reinterpret_cast<decltype(NumpyApi::set_base)>(places[282])};
}

const NumpyApi& numpy_api() {
  static std::optional<NumpyApi> loaded;  // guarded by the interpreter lock
  if (!loaded.has_value()) loaded = load_numpy();
  return *loaded;
}

}  // namespace

void need_numpy() {
  (void)numpy_api();
}

bool is_array(py::handle given) {
  return PyObject_TypeCheck(given.ptr(), numpy_api().array_type) != 0;
}

py::array to_array(py::handle given, py::dtype dtype, int flags) {
  auto array =
      py::reinterpret_steal<py::array>(call_python(numpy_api().from_any, given.ptr(), dtype.release().ptr(), 0, 0,
                                                   flags | py::detail::npy_api::NPY_ARRAY_ENSUREARRAY_, nullptr));
  if (!array) throw py::error_already_set();
  return array;
}

py::object owner_of(std::shared_ptr<const Batch> batch) {
  using Owner = std::shared_ptr<const Batch>;
  auto kept = std::make_unique<Owner>(std::move(batch));
  py::capsule owner(kept.get(), [](void* pointer) { delete static_cast<Owner*>(pointer); });
  (void)kept.release();
  return owner;
}

py::array array_over(const py::object& owner, const py::dtype& dtype, std::span<const py::ssize_t> shape,
                     const void* data) {
  constexpr int kReadOnly = 0;
  const NumpyApi& numpy = numpy_api();
  auto array = py::reinterpret_steal<py::array>(numpy.new_array(
      numpy.array_type, py::dtype(dtype).release().ptr(), static_cast<int>(shape.size()),
      reinterpret_cast<const Py_intptr_t*>(shape.data()), nullptr, const_cast<void*>(data), kReadOnly, nullptr));
  if (!array) throw py::error_already_set();
  if (numpy.set_base(array.ptr(), py::object(owner).release().ptr()) != 0) throw py::error_already_set();
  return array;
}

py::array new_array(const py::dtype& dtype, std::size_t size) {
  const auto shape = static_cast<Py_intptr_t>(size);
  const NumpyApi& numpy = numpy_api();
  auto array = py::reinterpret_steal<py::array>(
      numpy.new_array(numpy.array_type, py::dtype(dtype).release().ptr(), 1, &shape, nullptr, nullptr, 0, nullptr));
  if (!array) throw py::error_already_set();
  return array;
}

py::dtype dtype_of_number(int number) {
  auto dtype = py::reinterpret_steal<py::dtype>(numpy_api().dtype_from_number(number));
  if (!dtype) throw py::error_already_set();
  return dtype;
}

py::dtype dtype_of(Dtype dtype) {
  using Numpy = py::detail::npy_api;
  constexpr int kHalf = 23;  // pybind11 has no name for it
  constexpr std::array<int, 12> kNumbers{Numpy::NPY_UINT8_,  Numpy::NPY_INT8_,   Numpy::NPY_UINT16_,
                                         Numpy::NPY_INT16_,  Numpy::NPY_UINT32_, Numpy::NPY_INT32_,
                                         Numpy::NPY_UINT64_, Numpy::NPY_INT64_,  kHalf,
                                         Numpy::NPY_FLOAT_,  Numpy::NPY_DOUBLE_, Numpy::NPY_UINT8_};
  return dtype_of_number(kNumbers[static_cast<std::size_t>(dtype)]);
}

py::object to_capsule(DLManagedTensor* tensor) {
  constexpr const char* kName = "dltensor";
  // A consumer that takes the tensor renames the capsule and calls the deleter itself.
  const auto destroy = [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, kName) == 0) return;
    auto* const unused = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
    unused->deleter(unused);
  };
  PyObject* const capsule = PyCapsule_New(tensor, kName, destroy);
  if (capsule == nullptr) {
    tensor->deleter(tensor);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace dovetail::python
