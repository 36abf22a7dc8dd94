// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>
#include <pybind11/pybind11.h>

#include "python/src/gil.h"
#include "python/src/reader.h"

namespace dovetail::python {

/// Sets a mark for its scope.
class Marked {
 public:
  explicit Marked(bool& mark) : mark_(mark) { mark_ = true; }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;
  ~Marked() { mark_ = false; }

 private:
  bool& mark_;
};

/// The batches up to the end of the epoch. The iterator stays at its end.
struct EpochIterator {
  // A Python object, so that the garbage collector sees it as a user of the reader and its map.
  UserObject reader;
  bool in_next = false;

  pybind11::object next() {
    // The iterator may be all that keeps the reader. And a concurrent call would begin the next
    // epoch if this one ends the present epoch.
    if (in_next)
      throw Exception(
          Error(Errc::busy, "another thread, or a signal handler, is taking a batch from the same iterator"));
    if (reader) {
      const Marked here(in_next);
      if (pybind11::object batch = reader.cast<PyReader&>().next(); !batch.is_none()) return batch;
      reader.reset();
    }
    throw pybind11::stop_iteration();
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(reader.ptr());
    return 0;
  }
  void clear() { reader.reset(); }
};

}  // namespace dovetail::python
