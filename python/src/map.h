// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>
#include <dovetail/transform.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// A function of Python as a transform: `fn(record)` returns the columns of its row by name.
///
/// Threads: `transform` may be called and copied on any thread, and its copies may go on any. All else needs the
///          interpreter lock.
class PyMap : public std::enable_shared_from_this<PyMap> {
 public:
  /// `keeps_raised`: whether what the function raises may end the reader.
  PyMap(pybind11::object function, Schema schema, bool keeps_raised);
  PyMap(const PyMap&) = delete;
  PyMap& operator=(const PyMap&) = delete;
  ~PyMap();

  Transform transform();
  /// What the function raised for the record of this error of a reader; null where that is not known.
  pybind11::object raised(const Error& error, const Dataset& dataset) const;
  /// Whether this thread is in the function of any map: it then must not wait for a reader.
  static bool runs_here() noexcept;

  // For the collector of cycles.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  class Scope;
  Result<void> fill(const TransformInput& input, RowWriter& row);
  void write(pybind11::handle columns, RowWriter& row) const;
  void write(std::size_t column, pybind11::handle value, RowWriter& row) const;
  Error reject(std::uint64_t id, pybind11::error_already_set& raised);

  const Schema schema_;
  const bool keeps_raised_;
  pybind11::object function_;
  /// What each call needs. Strings are made once: as names of attributes they are compared by their address.
  struct Objects {
    pybind11::object record_type;
    pybind11::object fit;
    pybind11::object id;
    pybind11::object epoch;
    pybind11::object seed;
    std::vector<pybind11::object> columns;
  };
  std::unique_ptr<Objects> objects_;
  struct Raised {
    std::uint64_t id = 0;  ///< Of the record.
    std::string reason;    ///< What its error begins with.
    pybind11::object exception;
  };
  std::deque<Raised> raised_;
};

}  // namespace dovetail::python
