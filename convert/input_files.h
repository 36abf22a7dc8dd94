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

namespace dovetail::detail {

/// Whether a source is read once only: `-`, which is standard input, or a pipe.
bool is_stream(const std::string& source);

/// A source as errors name it.
std::string shown_name(const std::string& source);

/// What `InputFiles::open` checks before it reads any stream, which may take long. A file that is opened before may pass for
/// a standard input that is closed.
Result<void> check_streams(const std::vector<std::string>& sources, SourceFormat format);

/// The sources of a conversion as files that can be read as often as is needed. A stream is copied, as it is, to a file
/// without a name at or above the target, before anything else is done: what is planned needs the size of all input,
/// shards begin anywhere, and a shuffle reads twice.
///
/// Ownership: the copies are gone with it, or with the process.
class InputFiles {
 public:
  /// Asked several times a second, with the bytes that were copied so far: true ends it.
  using Cancelled = std::function<bool(std::uint64_t copied)>;

  /// Errors: `invalid_option` for a stream that is given twice; `unknown_format` for formats that no stream can have,
  ///         and where a text does not tell which one it is; `operation_canceled`; the system's, with the folder where
  ///         there is no room.
  static Result<InputFiles> open(const std::vector<std::string>& sources, SourceFormat format,
                                 const std::string& target, const Cancelled& cancelled);
  InputFiles(InputFiles&&) noexcept = default;
  InputFiles& operator=(InputFiles&&) = delete;
  ~InputFiles();

  /// In the order of the sources.
  const std::vector<std::string>& paths() const noexcept { return paths_; }
  /// See `identify_inputs`. That of a stream are its bytes: the same ones that come again are the same input.
  Result<InputIdentity> identify(const SourceOptions& options) const;
  /// The same error, with the stream wherever it names the copy.
  Error renamed(const Error& error) const;

 private:
  struct Copy {
    std::string path;
    std::string shown;
    std::string identity;
  };
  InputFiles() = default;
  Result<std::string> copy(const std::string& source, SourceFormat format, const std::string& target,
                           const Cancelled& cancelled);

  std::vector<std::string> paths_;
  std::vector<std::string> named_;  // those that are no copies
  std::vector<Copy> copies_;
  std::vector<int> descriptors_;
};

}  // namespace dovetail::detail
