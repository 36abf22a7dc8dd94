// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/error.h>

#include "tools/command/sink.h"

namespace dovetail::tools {

/// Checks that a path is local. Errors: `invalid_option` for an address.
Result<void> check_local(const std::string& path);

/// Reads a whole small file. `what` completes the error "it is not ...".
/// Errors: those of the system; `unknown_format` for more than `max_bytes`; those of `check_local`.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes, const std::string& what);

/// The same for a file that has a mark, or is empty. Errors: also `unknown_format` without the mark.
Result<std::string> read_marked(const std::string& path, std::size_t max_bytes, std::string_view mark,
                                const std::string& what);

/// Checks that outputs may be written to these paths, before the work for them is done. An empty
/// path means no output.
/// Errors: `already_exists` for a file of Dovetail, which is never replaced by a text, for one of
///         the `inputs`, and for two outputs with one name; those of the system, with advice if a
///         folder is missing; those of `check_local`.
Result<void> check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// A file that is replaced atomically: readers find the old text or the new text, also after a
/// failure or a power cut. Until `finish` the new text is in a temporary file beside it. Devices
/// and pipes are written directly.
///
/// Ownership: the destructor removes an unfinished file.
class NewFile {
 public:
  /// Errors: those of `check_outputs`.
  static Result<NewFile> create(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Sink& sink() noexcept { return sink_; }
  /// Gives the file its name. Errors: those of the system, naming the file; the temporary file is
  /// then removed.
  Result<void> finish();

 private:
  NewFile(Sink sink, std::string path, std::string aside)
      : sink_(std::move(sink)), path_(std::move(path)), aside_(std::move(aside)) {}

  Sink sink_;
  std::string path_;
  std::string aside_;  ///< Path of the temporary file, if there is one.
};

/// Replaces a file by means of `NewFile`. Errors: those of `NewFile`.
Result<void> replace_text(const std::string& path, std::string_view text);

}  // namespace dovetail::tools
