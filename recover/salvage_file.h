// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <dovetail/error.h>

#include "sources/bytes/source_file.h"

namespace dovetail::detail {

/// Whether an error says that bytes on the medium cannot be read, rather than that the caller may not or cannot now.
bool is_of_the_medium(const Error& error) noexcept;

/// A file on a medium that may be failing. What cannot be read, also when tried again, reads as zeros, and is known from then
/// on: page by page, so that what lies beside it is read.
///
/// Threads: none; one thread at a time.
/// Errors:  the system's other ones, as `SourceFile`; `unfinished` for a file that a writer is at work on.
/// Cost:    at most two failing reads for each page that cannot be read, whatever is read how often; 50 bytes of memory for
///          pages beside each other.
class SalvageFile {
 public:
  static Result<SalvageFile> open(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  std::uint64_t size() const noexcept { return file_.size(); }

  /// Fills `out`, or less at the end of the file.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out);

  /// Whether there is anything among these bytes that could not be read.
  bool is_unreadable(std::uint64_t offset, std::uint64_t bytes) const;
  std::uint64_t unreadable_bytes() const noexcept { return unreadable_bytes_; }
  /// The first one that was read around.
  const std::optional<Error>& read_error() const noexcept { return read_error_; }

 private:
  explicit SalvageFile(SourceFile file) : file_(std::move(file)) {}
  Result<std::size_t> try_again(const Error& error, std::span<std::byte> out);
  void add_hole(std::uint64_t begin, std::uint64_t end);

  SourceFile file_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // end by begin; never side by side
  std::uint64_t unreadable_bytes_ = 0;
  std::optional<Error> read_error_;
};

}  // namespace dovetail::detail
