// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>

#include "python/src/batch.h"
#include "python/src/gil.h"

namespace dovetail::python {

/// Ends a call whose reader was moved while it waited for a batch.
[[noreturn]] inline void refuse_moved() {
  throw Exception(Error(Errc::busy, "the reader was moved meanwhile, by another thread or a signal handler"));
}

/// The objects that a `dovetail._objects.KeptObjects` keeps until their batches are delivered. Runs
/// no Python code but that of destructors.
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
  const UserObject& dict() const noexcept { return dict_; }
  void clear() { dict_.reset(); }

 private:
  UserObject dict_;  // by number; null for other functions
};

}  // namespace dovetail::python
