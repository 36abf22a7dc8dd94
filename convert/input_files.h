// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "convert/conversion_spec.h"
#include "writer/descriptor.h"

namespace dovetail::detail {

/// Whether a source can be read only once: `-`, which is standard input, or a pipe.
bool is_stream(const std::string& source);

/// The name of a source in errors.
std::string shown_name(const std::string& source);

/// Checks that `InputFiles::open` makes before it reads any stream, which may be slow. Call it
/// before other files are opened: one of them could take the descriptor of a closed standard input.
Result<void> check_streams(const std::vector<std::string>& sources, SourceFormat format);

/// The sources of a conversion as files that can be read repeatedly. A stream is first copied
/// unchanged to an unnamed file at or above the target: planning needs the size of all input,
/// shards begin anywhere, and a shuffle reads twice.
///
/// Ownership: the copies are removed with it, or with the process.
class InputFiles {
 public:
  /// Called several times a second with the bytes copied so far; returning true cancels.
  using Cancelled = std::function<bool(std::uint64_t copied)>;

  /// Errors: `invalid_option` for a stream that is given twice; `unknown_format` for formats that a
  ///         stream cannot have, and for text of unknown format; `operation_canceled`; the
  ///         system's, with the folder if the disk is full.
  static Result<InputFiles> open(const std::vector<std::string>& sources, SourceFormat format,
                                 const std::string& target, const Cancelled& cancelled);
  /// In the order of the sources.
  const std::vector<std::string>& paths() const noexcept { return paths_; }
  /// See `identify_inputs`. A stream is identified by its bytes: the same bytes are the same input.
  Result<InputIdentity> identify(const SourceOptions& options) const;
  /// The same error, naming the stream instead of the copy.
  Error renamed(const Error& error) const;
  std::string renamed(std::string text) const;

 private:
  struct Copy {
    Descriptor file;
    std::string path;
    std::string shown;
    std::string identity;
  };
  InputFiles() = default;
  Result<std::string> copy(const std::string& source, SourceFormat format, const std::string& target,
                           const Cancelled& cancelled);

  std::vector<std::string> paths_;
  std::vector<std::string> named_;  // sources that are not copies
  std::vector<Copy> copies_;
};

}  // namespace dovetail::detail
