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

/// Returns whether an error means that the medium cannot read its bytes. Other errors mean that the
/// caller may not read, or cannot now.
bool is_of_the_medium(const Error& error) noexcept;

/// A file on a medium that may be failing. Pages that cannot be read, even on a second try, read as
/// zeros. The object remembers them page by page, so that the bytes beside them are still read.
///
/// Threads: none; one thread at a time.
/// Errors:  the system's other errors, as `SourceFile`; `unfinished` for a file that a writer is
///          writing.
/// Cost:    at most two failing reads per unreadable page, however often the page is read; 50 bytes
///          of memory per range of unreadable pages.
class SalvageFile {
 public:
  static Result<SalvageFile> open(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  std::uint64_t size() const noexcept { return file_.size(); }

  /// Fills `out`, or a part of it at the end of the file.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out);

  /// Returns whether any of these bytes could not be read.
  bool is_unreadable(std::uint64_t offset, std::uint64_t bytes) const;
  std::uint64_t unreadable_bytes() const noexcept { return unreadable_bytes_; }
  /// The first read error that was worked around.
  const std::optional<Error>& read_error() const noexcept { return read_error_; }

 private:
  explicit SalvageFile(SourceFile file) : file_(std::move(file)) {}
  Result<std::size_t> try_again(const Error& error, std::span<std::byte> out);
  void add_hole(std::uint64_t begin, std::uint64_t end);

  SourceFile file_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // end by begin; ranges never touch
  std::uint64_t unreadable_bytes_ = 0;
  std::optional<Error> read_error_;
};

}  // namespace dovetail::detail
