// SPDX-License-Identifier: Apache-2.0
#include "python/src/arrays.h"

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <dlpack/dlpack.h>

#include "python/src/gil.h"

namespace dovetail::python {

namespace py = pybind11;

void need_numpy() {
  static bool ready = false;  // guarded by the interpreter lock
  if (ready) return;
  (void)import_module("numpy");
#if PYBIND11_VERSION_HEX < 0x020C0000
  // pybind11 looks for it here, and NumPy 2 does not import it.
  (void)import_module("numpy.core.multiarray");
#endif
  ready = true;
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
  // Does what the constructor of py::array does, without vectors for shape and strides.
  const auto& numpy = py::detail::npy_api::get();
  constexpr int kReadOnly = 0;
  auto array = py::reinterpret_steal<py::array>(numpy.PyArray_NewFromDescr_(
      numpy.PyArray_Type_, py::dtype(dtype).release().ptr(), static_cast<int>(shape.size()),
      reinterpret_cast<const Py_intptr_t*>(shape.data()), nullptr, const_cast<void*>(data), kReadOnly, nullptr));
  if (!array) throw py::error_already_set();
  if (numpy.PyArray_SetBaseObject_(array.ptr(), py::object(owner).release().ptr()) != 0) throw py::error_already_set();
  return array;
}

py::array new_array(const py::dtype& dtype, std::size_t size) {
  const auto shape = static_cast<Py_intptr_t>(size);
  const auto& numpy = py::detail::npy_api::get();
  auto array = py::reinterpret_steal<py::array>(numpy.PyArray_NewFromDescr_(
      numpy.PyArray_Type_, py::dtype(dtype).release().ptr(), 1, &shape, nullptr, nullptr, 0, nullptr));
  if (!array) throw py::error_already_set();
  return array;
}

py::dtype dtype_of(Dtype dtype) {
  constexpr std::array<const char*, 12> kNames{"u1",  "i1",  "<u2", "<i2", "<u4", "<i4",
                                               "<u8", "<i8", "<f2", "<f4", "<f8", "u1"};
  return py::dtype(kNames[static_cast<std::size_t>(dtype)]);
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
