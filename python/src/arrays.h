// SPDX-License-Identifier: Apache-2.0
// Arrays that view the memory of a batch, and tensors for other frameworks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <pybind11/numpy.h>

#include <dovetail/batch.h>
#include <dovetail/schema.h>

struct DLManagedTensor;

namespace dovetail::python {

/// Imports NumPy if it is not imported yet. Call this before any other function for arrays, because
/// other threads run meanwhile.
///
/// Of pybind11 use only functions of arrays that exist. All others, such as constructors of arrays
/// and dtypes, `isinstance` and parameters, look NumPy's functions up in `npy_api::get()`. Its first
/// call is not safe with several threads:
/// - From pybind11 2.12 on, it takes the interpreter lock in a destructor. If the interpreter ends
///   meanwhile, this aborts the process; see gil.h.
/// - Before, it imports NumPy in the initialiser of a static variable. A second thread would wait
///   there while it holds the lock, which the import in the first thread needs.
///
/// pybind11 before 2.12 assumes the structures of NumPy 1. NumPy 2 changed that of a dtype from its
/// flags on. So do not use `itemsize()` of a dtype.
void need_numpy();

bool is_array(pybind11::handle given);

/// The object as an array, with a dtype and flags of NumPy if they are given. Errors: what Python
/// raises.
pybind11::array to_array(pybind11::handle given, pybind11::dtype dtype = {}, int flags = 0);

/// A dtype by NumPy's number, which pybind11 has in `npy_format_descriptor`.
pybind11::dtype dtype_of_number(int number);

template <class Number>
pybind11::dtype dtype_of() {
  return dtype_of_number(pybind11::detail::npy_format_descriptor<Number>::value);
}

/// An array of these numbers in C order. Converts other numbers without a check of their range.
template <class Number>
pybind11::array_t<Number> to_array_of(pybind11::handle given) {
  constexpr int kFlags = pybind11::array::c_style | pybind11::array::forcecast;
  return pybind11::reinterpret_steal<pybind11::array_t<Number>>(to_array(given, dtype_of<Number>(), kFlags).release());
}

/// A new one-dimensional array with uninitialised content.
pybind11::array new_array(const pybind11::dtype& dtype, std::size_t size);

template <class Number>
pybind11::array_t<Number> new_array(std::size_t size) {
  return pybind11::reinterpret_steal<pybind11::array_t<Number>>(new_array(dtype_of<Number>(), size).release());
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
  return array_over(owner, dtype_of<Number>(), std::span(&size, 1), numbers.data());
}

/// The dtype of the values of a column. For `Dtype::bytes` these are characters.
pybind11::dtype dtype_of(Dtype dtype);

/// The capsule that `__dlpack__` returns. The consumer of the capsule owns the tensor.
pybind11::object to_capsule(DLManagedTensor* tensor);

}  // namespace dovetail::python
