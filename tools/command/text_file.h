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

/// Whether a path is one of this machine. Errors: `invalid_option` for an address.
Result<void> check_local(const std::string& path);

/// The whole of a small file. Errors: the system's; `bad_state` for more than `max_bytes`; as `check_local`.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes);

/// Whether outputs may be written to these paths, before the work for them is done; an empty one was not asked for.
/// Errors: `already_exists` for a file of Dovetail's, which is never replaced by a text, for one of the `inputs`, and for
///         two outputs of one name; the system's, with what to do about a folder that is missing; as `check_local`.
Result<void> check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// A file that takes its place in one go: whoever reads it, and whatever fails, finds the old text or the new one, also
/// after a power cut. Until then it lies beside it. Devices and pipes are written to as they are.
///
/// Ownership: what is not finished is removed.
class NewFile {
 public:
  /// Errors: as `check_outputs`.
  static Result<NewFile> create(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Sink& sink() noexcept { return sink_; }
  /// Gives the file its name. Errors: the system's, naming the file; what was written in part is removed.
  Result<void> finish();

 private:
  NewFile(Sink sink, std::string path, std::string aside)
      : sink_(std::move(sink)), path_(std::move(path)), aside_(std::move(aside)) {}

  Sink sink_;
  std::string path_;
  std::string aside_;  ///< Where it lies until it is finished, if anywhere.
};

/// Replaces a file by such a new one. Errors: as there.
Result<void> replace_text(const std::string& path, std::string_view text);

}  // namespace dovetail::tools
