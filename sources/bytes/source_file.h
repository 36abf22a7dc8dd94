// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include <dovetail/error.h>

#include "writer/descriptor.h"

namespace dovetail::detail {

/// A regular file that is read once, from its beginning to its end.
///
/// Threads: none; one thread at a time.
/// Errors:  the system's, with the path, and the offset of a failed read; `file_changed` if it ends
///          before its size at opening, because a cut file must not look complete.
class SourceFile {
 public:
  /// Errors: also `unknown_format` for anything but a regular file.
  static Result<SourceFile> open(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  /// Size at opening.
  std::uint64_t size() const noexcept { return size_; }
  /// Bytes read so far.
  std::uint64_t position() const noexcept { return position_; }

  /// Called before each `read`; returning true makes it fail with `operation_canceled`.
  void watch(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

  /// Fills `out`; returns less only at the end of the file, so that results do not depend on how
  /// the system divides reads. Returns the bytes read.
  Result<std::size_t> read(std::span<std::byte> out);
  /// Whether a writer of this library is writing it, as far as the file system shows.
  bool is_being_written() const noexcept;
  /// Skips forward, at most to its size at opening. Returns the bytes skipped.
  std::uint64_t skip(std::uint64_t bytes) noexcept;
  /// Reads from the beginning without moving the position.
  Result<std::size_t> peek(std::span<std::byte> out) const { return read_at(0, out); }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  SourceFile() = default;

  Descriptor descriptor_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  std::function<bool()> cancelled_;
};

}  // namespace dovetail::detail
