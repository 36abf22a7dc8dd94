// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <dovetail/error.h>

namespace dovetail::detail {

/// What tells one state of a file from another: a file that was replaced or rewritten differs in at least one of them.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A regular file opened for reading.
///
/// Ownership: owns the descriptor; move-only. A moved-from file may only be assigned to or destroyed.
/// Threads:   const calls may run concurrently; no file position is shared.
/// Errors:    all name the file, and those of `read` the offset.
class InputFile {
 public:
  /// Errors: the system's (a folder is `EISDIR`), `unknown_format` for devices, pipes and sockets.
  static Result<InputFile> open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_; }
  /// Bytes of the file when it was opened.
  std::uint64_t size() const noexcept { return identity_.bytes; }
  /// As of opening.
  const FileIdentity& identity() const noexcept { return identity_; }

  /// Fills `out` from `offset` on. Errors: `truncated` past the end, `file_changed` where the end has moved since the
  /// file was opened, or the system's.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Errors: `file_changed` unless the open file is still in the state in which it was opened.
  Result<void> check_unchanged() const;

  /// Asks the system to read this range from storage next time, not from the page cache. Without effect where the file
  /// system does not offer it.
  void drop_cache(std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  InputFile(int fd, std::string path, const FileIdentity& identity);

  int fd_ = -1;
  std::string path_;
  FileIdentity identity_;
};

}  // namespace dovetail::detail
