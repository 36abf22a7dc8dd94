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

/// A reader that can be closed, and opened anew elsewhere in the order. All functions need the interpreter lock, which
/// guards the members; it is given up while they wait. While one thread moves the reader, calls of others get `busy`.
class PyReader {
 public:
  /// `map`: the transform of the options, where that is a function of Python.
  PyReader(Dataset dataset, ReaderOptions options, std::shared_ptr<PyMap> map);
  PyReader(const PyReader&) = delete;
  PyReader& operator=(const PyReader&) = delete;
  ~PyReader();

  /// Nothing at the end of an epoch. Signals are handled first, and while it waits, by whatever Python's handlers do.
  std::optional<PyBatch> next();

  /// Goes on at another place. Reads nothing where it stands there and can go on.
  /// Errors: `invalid_option` for an epoch that is not to be read, or a step that it does not have.
  void seek(Position to);
  /// The same to the beginning of an epoch, unless it stands in it.
  void set_epoch(std::uint32_t epoch);
  /// Where no epoch is left to be read, every call gives the end.
  void seek(const State& state);

  const BatchReader& get() const { return *open(); }
  /// Stops the threads; batches stay. Idempotent, final, also while another thread moves the reader; does nothing in a forked
  /// child. In the function of a map it does not wait: the thread is one of those that it stops.
  void close();
  bool closed() const noexcept { return closed_; }
  /// Hands what the reader had to say to Python's `logging`.
  void flush_log();

  // For the collector of cycles.
  int traverse(visitproc visit, void* arg) const { return map_ == nullptr ? 0 : map_->traverse(visit, arg); }
  void clear() {
    if (map_ != nullptr) map_->clear();
  }

 private:
  /// Errors: `closed`; `busy` while it is moved.
  void need_usable() const;
  [[noreturn]] void raise(const Error& error) const;
  /// Errors: as above, and what it could not be opened for when it was last moved.
  const std::shared_ptr<BatchReader>& open() const;
  void reopen(ReaderOptions options);
  void stop();
  void need_epoch(std::uint32_t epoch) const;
  State state_at(Position to) const;

  Dataset dataset_;
  ReaderOptions options_;
  std::shared_ptr<PyMap> map_;
  std::uint32_t end_epoch_;  // the first one that is not read; 0 where they never end
  std::shared_ptr<LogLines> log_ = std::make_shared<LogLines>();
  std::shared_ptr<BatchReader> reader_;
  std::optional<Plan> plan_;  // of the reader that was last open
  std::optional<Error> failure_;
  bool moving_ = false;
  bool ended_ = false;  // nothing is left of the epochs
  bool closed_ = false;
  detail::ProcessMark process_;
};

/// Closes what is still open, and hands over what it has to say: neither can be done when the interpreter is gone.
void close_all_readers();

}  // namespace dovetail::python
