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

#include "python/src/kept_objects.h"

namespace dovetail::python {

/// A Python function as a transform. `fn(record)` returns the columns of its row by name,
/// `fn(records)` those of all rows of a batch.
///
/// Threads: `transform` may be called and copied on any thread, and its copies may be destroyed on
///          any. All other functions need the interpreter lock.
class PyMap : public std::enable_shared_from_this<PyMap> {
 public:
  enum class Takes : std::uint8_t { record, batch };
  /// `keeps_raised` is true if an exception of the function may end the reader.
  PyMap(pybind11::object function, Takes takes, Schema schema, bool keeps_raised);
  PyMap(const PyMap&) = delete;
  PyMap& operator=(const PyMap&) = delete;
  ~PyMap();

  Transform transform();
  /// The exception that the function raised for the record that `error` of a reader names; null if
  /// unknown.
  pybind11::object raised(const Error& error, const Dataset& dataset) const;
  /// The exception by which the function ended the reader, which failed for lack of memory then.
  /// Null if it raised none.
  const pybind11::object& ended_by() const noexcept { return ended_by_; }
  /// Forgets that exception, and objects that the function keeps. Call, without the lock, while no
  /// thread of a reader runs.
  void begin();
  /// What the function keeps for batches.
  const KeptObjects& kept() const noexcept { return objects_->kept; }
  /// Whether this thread is in the function of any map. It must not wait for a reader then.
  static bool runs_here() noexcept;

  // For the cyclic garbage collector.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  class Scope;
  struct BatchColumns;
  Result<void> fill(const TransformInput& input, RowWriter& row);
  Result<Transform::FillRow> fill_batch(std::span<const TransformInput> records);
  /// Runs `call`, which runs the user's code. Errors: its exception, as the error of record `id`;
  /// `std::bad_alloc` if the exception ends the reader.
  template <class Call>
  Result<void> guarded(std::uint64_t id, const Call& call);
  /// Calls the function. Errors: its exception; `std::bad_alloc` if the function was collected.
  UserObject call(const UserObject& argument) const;
  pybind11::object make_record(const TransformInput& input) const;
  template <class Use>
  void for_each_column(pybind11::handle columns, const Use& use) const;
  const char* name() const noexcept { return takes_ == Takes::record ? "map" : "map_batch"; }
  Error reject(std::uint64_t id, const UserObject& exception);

  const Takes takes_;
  const Schema schema_;
  const bool keeps_raised_;
  UserObject function_;
  /// Objects that each call needs. Strings are made once, because attribute names are compared by
  /// address.
  struct Objects {
    pybind11::object record_type;
    KeptObjects kept;
    pybind11::object fit;
    pybind11::object id;
    pybind11::object epoch;
    pybind11::object seed;
    std::vector<pybind11::object> columns;
  };
  std::unique_ptr<Objects> objects_;
  struct Raised {
    std::uint64_t id = 0;  ///< Id of the record.
    std::string reason;    ///< The beginning of the error's text.
    UserObject exception;
  };
  std::deque<Raised> raised_;
  UserObject ended_by_;
};

}  // namespace dovetail::python
