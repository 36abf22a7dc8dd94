// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <dovetail/batch_reader.h>
#include <pybind11/pybind11.h>

#include "format/process_mark.h"
#include "python/src/batch.h"
#include "python/src/log_lines.h"

namespace dovetail::python {

/// A reader that can be closed, and opened anew elsewhere in the order. All functions need the interpreter lock, which
/// guards the members; it is given up while they wait.
class PyReader {
 public:
  PyReader(Dataset dataset, ReaderOptions options);
  PyReader(const PyReader&) = delete;
  PyReader& operator=(const PyReader&) = delete;
  ~PyReader();

  /// Nothing at the end of an epoch. Signals are handled while it waits, by whatever Python's handlers do.
  std::optional<PyBatch> next();

  /// Goes on at another place. Reads nothing where it stands there.
  void seek(Position to);
  void seek(const State& state);

  const BatchReader& get() const { return *open(); }
  /// Stops the threads; batches stay. Idempotent; does nothing in a forked child.
  void close();
  bool closed() const noexcept { return reader_ == nullptr; }
  /// Hands what the reader had to say to Python's `logging`.
  void flush_log(const char* level = "warning");

 private:
  const std::shared_ptr<BatchReader>& open() const;
  void reopen(ReaderOptions options);

  Dataset dataset_;
  ReaderOptions options_;
  std::shared_ptr<LogLines> log_ = std::make_shared<LogLines>();
  std::shared_ptr<BatchReader> reader_;
  detail::ProcessMark process_;
};

/// Closes what is still open: threads must be gone before the interpreter is.
void close_all_readers();

}  // namespace dovetail::python
