// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>
#include <dovetail/transform.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// A function of Python as a transform: `fn(record)` returns the columns of its row by name, or `fn(records)` those of all
/// rows of a batch.
///
/// Threads: `transform` may be called and copied on any thread, and its copies may go on any. All else needs the
///          interpreter lock.
class PyMap : public std::enable_shared_from_this<PyMap> {
 public:
  enum class Takes : std::uint8_t { record, batch };
  /// `keeps_raised`: whether what the function raises may end the reader.
  PyMap(pybind11::object function, Takes takes, Schema schema, bool keeps_raised);
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
  struct BatchColumns;
  Result<void> fill(const TransformInput& input, RowWriter& row);
  Result<Transform::FillRow> fill_batch(std::span<const TransformInput> records);
  /// Runs `call` of the user's code. Errors: what it raises, as that of the record `id`.
  template <class Call>
  Result<void> guarded(std::uint64_t id, const Call& call);
  /// What the function returns for it.
  pybind11::object call(const pybind11::object& argument) const;
  pybind11::object make_record(const TransformInput& input) const;
  template <class Use>
  void for_each_column(pybind11::handle columns, const Use& use) const;
  void write(std::size_t column, pybind11::handle value, RowWriter& row) const;
  const char* name() const noexcept { return takes_ == Takes::record ? "map" : "map_batch"; }
  Error reject(std::uint64_t id, pybind11::error_already_set& raised);

  const Takes takes_;
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
