// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <dovetail/batch_reader.h>
#include <pybind11/pybind11.h>

#include "format/process_mark.h"
#include "python/src/batch.h"
#include "python/src/log_lines.h"
#include "python/src/map.h"

namespace dovetail::python {

/// A reader that can be closed, and reopened at another place of the order. All functions need the
/// interpreter lock, which guards the members; it is released while they wait. While one thread
/// moves the reader, calls of other threads get `busy`.
class PyReader {
 public:
  /// `map` is the transform of the options, if that is a Python function.
  PyReader(Dataset dataset, ReaderOptions options, std::shared_ptr<PyMap> map);
  PyReader(const PyReader&) = delete;
  PyReader& operator=(const PyReader&) = delete;
  ~PyReader();

  /// The next `PyBatch`; None at the end of an epoch. Handles signals before and during the wait,
  /// and raises what their handlers raise.
  pybind11::object next();

  /// Moves to another place. Does nothing if the reader is there and can continue.
  /// Errors: `invalid_option` for an epoch that is not to be read, or a step that the epoch does
  ///         not have.
  void seek(Position to);
  /// Moves to the beginning of an epoch, unless the reader is in that epoch.
  void set_epoch(std::uint32_t epoch);
  /// Moves to a state. If no epoch is left to read, every later `next` returns the end.
  void seek(const State& state);

  /// The place of the next batch. After a move that failed, the one to which it was to go; after a
  /// batch whose objects found no memory, the place of that batch.
  State state() const;
  const Plan& plan() const {
    need_usable();
    return *plan_;
  }
  const BatchReader& get() const { return *open(); }
  /// Stops the threads; batches stay valid. Idempotent and final, also while another thread moves
  /// the reader. Does nothing in a forked child. In the function of a map it does not wait, because
  /// this thread is one of those to stop.
  void close();
  bool closed() const noexcept { return closed_; }
  /// Passes the reader's messages to Python's `logging`.
  void flush_log();

  // For the cyclic garbage collector.
  int traverse(visitproc visit, void* arg) const { return map_ == nullptr ? 0 : map_->traverse(visit, arg); }
  void clear() {
    if (map_ != nullptr) map_->clear();
  }
  /// The threads of the reader must not call a function that the collector has cleared. Other
  /// garbage may still use the reader, and finds it closed.
  void finalize() {
    closed_ = true;
    clear();
  }

 private:
  /// Errors: `closed`, also at the end of the interpreter if there is a map; `busy` while the reader
  ///         is moved.
  void need_usable() const;
  /// Errors: those of `need_usable`; `busy` if the reader was moved meanwhile; Python's
  /// `MemoryError`, after which the state is the one before the batch, and `open` fails until the
  /// reader is moved.
  void give_objects(PyBatch& batch, const std::shared_ptr<BatchReader>& from, State before);
  [[noreturn]] void raise(const Error& error) const;
  /// Errors: those of `need_usable`; the error of the last move if it could not open the reader;
  ///         that of the last batch if its objects found no memory.
  const std::shared_ptr<BatchReader>& open() const;
  void reopen(ReaderOptions options);
  void stop();
  void need_epoch(std::uint32_t epoch) const;
  State state_at(Position to) const;

  Dataset dataset_;
  ReaderOptions options_;  // `state` is where the reader was opened; after a failure, its place
  std::shared_ptr<PyMap> map_;
  std::shared_ptr<LogLines> log_ = std::make_shared<LogLines>();
  std::shared_ptr<BatchReader> reader_;
  std::optional<Plan> plan_;  // of the reader, also if it could not be opened
  std::optional<Error> failure_;
  bool moving_ = false;
  bool closed_ = false;
  detail::ProcessMark process_;
};

/// Closes all open readers and passes their messages on. At the end of the interpreter neither is
/// possible.
void close_all_readers();

}  // namespace dovetail::python
