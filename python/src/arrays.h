// SPDX-License-Identifier: Apache-2.0
// Arrays that view the memory of a batch, and tensors for other frameworks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <pybind11/numpy.h>

#include <dovetail/batch.h>
#include <dovetail/schema.h>

struct DLManagedTensor;

namespace dovetail::python {

/// Imports NumPy if it is not imported yet. Call this before any function of pybind11 for arrays.
/// pybind11 imports NumPy in the initialiser of a static variable. A second thread would wait there
/// while it holds the interpreter lock, which the import in the first thread needs.
///
/// pybind11 before 2.12 assumes the structures of NumPy 1. NumPy 2 changed that of a dtype from its
/// flags on. So do not use `itemsize()` of a dtype, or functions that compute strides from it, such
/// as constructors of arrays. All other functions work with both.
void need_numpy();

/// A new one-dimensional array with uninitialised content.
pybind11::array new_array(const pybind11::dtype& dtype, std::size_t size);

template <class Number>
pybind11::array_t<Number> new_array(std::size_t size) {
  return new_array(pybind11::dtype::of<Number>(), size);
}

/// The object that keeps a batch alive for its arrays. Make one per batch: a new one for each array
/// would cost a cache miss.
pybind11::object owner_of(std::shared_ptr<const Batch> batch);

/// A read-only array over `data`, in C order. It keeps `owner` until the array, and all views of
/// it, are gone.
pybind11::array array_over(const pybind11::object& owner, const pybind11::dtype& dtype,
                           std::span<const pybind11::ssize_t> shape, const void* data);

/// The same for a one-dimensional array of numbers.
template <class Number>
pybind11::array array_over(const pybind11::object& owner, std::span<const Number> numbers) {
  const auto size = static_cast<pybind11::ssize_t>(numbers.size());
  return array_over(owner, pybind11::dtype::of<Number>(), std::span(&size, 1), numbers.data());
}

/// The dtype of the values of a column. For `Dtype::bytes` these are characters.
pybind11::dtype dtype_of(Dtype dtype);

/// The capsule that `__dlpack__` returns. The consumer of the capsule owns the tensor.
pybind11::object to_capsule(DLManagedTensor* tensor);

}  // namespace dovetail::python
