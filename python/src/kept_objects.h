// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <pybind11/pybind11.h>

#include "python/src/batch.h"

namespace dovetail::python {

/// The objects that a `dovetail._objects.KeptObjects` keeps until their batches are delivered. Runs
/// no Python code of its own.
///
/// Threads: all functions need the interpreter lock.
class KeptObjects {
 public:
  /// For other functions it does nothing.
  explicit KeptObjects(const pybind11::object& function);

  /// Gives a batch its objects. No handler of a signal raises meanwhile, which would lose the
  /// batch. Errors: Python's `MemoryError`; `busy` if its objects were dropped.
  void give(PyBatch& batch) const;
  /// Drops the objects that no batch will get.
  void drop() const noexcept;

  // For the cyclic garbage collector.
  const pybind11::object& dict() const noexcept { return dict_; }
  pybind11::object take() noexcept { return std::move(dict_); }

 private:
  pybind11::object dict_;  // by number; null for other functions
};

}  // namespace dovetail::python
