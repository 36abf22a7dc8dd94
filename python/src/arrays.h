// SPDX-License-Identifier: Apache-2.0
// Arrays that look into memory of a batch, and tensors for other frameworks.
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

/// Imports NumPy where that has not been done. To be called before anything of pybind11's for arrays is: that looks NumPy up
/// inside the initialiser of a static, where a second thread would wait with the interpreter lock, for which the import of
/// the first one waits.
///
/// pybind11 before 2.12 knows the structures of NumPy 1, of which NumPy 2 changed one that it uses: a dtype, from its flags
/// on. So `itemsize()` of a dtype is not for us, nor what takes strides from it: constructors of arrays. All else serves both.
void need_numpy();

/// A new array of one dimension, with any content.
pybind11::array new_array(const pybind11::dtype& dtype, std::size_t size);

template <class Number>
pybind11::array_t<Number> new_array(std::size_t size) {
  return new_array(pybind11::dtype::of<Number>(), size);
}

/// What keeps the batch of arrays: one for all of a batch, because its memory is cold when the next one comes.
pybind11::object owner_of(std::shared_ptr<const Batch> batch);

/// A read-only array over `data`, in C order. It keeps its owner until it, and all that was made of it, is gone.
pybind11::array array_over(const pybind11::object& owner, const pybind11::dtype& dtype,
                           std::span<const pybind11::ssize_t> shape, const void* data);

/// The same of numbers that lie there.
template <class Number>
pybind11::array array_over(const pybind11::object& owner, std::span<const Number> numbers) {
  const auto size = static_cast<pybind11::ssize_t>(numbers.size());
  return array_over(owner, pybind11::dtype::of<Number>(), std::span(&size, 1), numbers.data());
}

/// Of the values of a column; `bytes` are characters.
pybind11::dtype dtype_of(Dtype dtype);

/// The capsule that `__dlpack__` returns: whoever consumes it owns the tensor.
pybind11::object to_capsule(DLManagedTensor* tensor);

}  // namespace dovetail::python
