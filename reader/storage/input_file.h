// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <dovetail/error.h>

namespace dovetail::detail {

/// What tells one state of a file from another: a file that was replaced or rewritten differs in at least one of them.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t modified_ns = 0;  ///< Since 1970, modulo 2^64.

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Where one read puts its bytes: `first` is filled, then `second`. A header goes aside so, and its record into a row.
struct ReadInto {
  std::span<std::byte> first = {};
  std::span<std::byte> second = {};

  std::size_t size() const noexcept { return first.size() + second.size(); }
  /// The same destination without its first `bytes`, which are at most `size()`.
  ReadInto after(std::size_t bytes) const noexcept;
  /// Its first `bytes`, which are at most `size()`.
  ReadInto before(std::size_t bytes) const noexcept;
};

/// A second descriptor of a file that reads past the page cache.
struct DirectAccess {
  int fd = -1;
  /// Offset, size and memory of every read are multiples of this many bytes.
  std::size_t alignment = 0;
};

/// A regular file opened for reading.
///
/// Ownership: owns its descriptors, together with those that share it; move-only. A moved-from file may only be assigned to
///            or destroyed.
/// Threads:   const calls may run concurrently; no file position is shared.
/// Errors:    all name the file, and those of `read` the offset.
class InputFile {
 public:
  /// Errors: the system's (a folder is `EISDIR`), `unknown_format` for devices, pipes and sockets.
  static Result<InputFile> open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  /// The same open file once more: its descriptors are closed with the last one.
  InputFile share() const { return InputFile(access_, fd_, path_, identity_); }

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_; }
  /// Bytes of the file when it was opened.
  std::uint64_t size() const noexcept { return identity_.bytes; }
  /// As of opening.
  const FileIdentity& identity() const noexcept { return identity_; }

  /// Fills `into` from `offset` on. Errors: `truncated` past the end, `file_changed` where the end has moved since the
  /// file was opened, or the system's.
  Result<void> read(std::uint64_t offset, ReadInto into) const;
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const { return read(offset, ReadInto{into}); }

  /// The same without waiting for a device. False: it would have to wait, or cannot tell; `into` may be filled in part,
  /// and only `read` says what is wrong, if anything. Cost: one system call, none where the file system or a sandbox
  /// has refused such reads before.
  Result<bool> try_read(std::uint64_t offset, ReadInto into) const;

  /// Access past the page cache, opened at the first call; nothing where the file system does not offer it. Borrowed
  /// from the file. Cost: opens a file once.
  std::optional<DirectAccess> direct() const;
  /// From now on `direct()` is nothing: for file systems whose refusal comes with the first read.
  void refuse_direct() const noexcept;

  /// Errors: `file_changed` unless the open file is still in the state in which it was opened.
  Result<void> check_unchanged() const;

  /// Asks the system to read this range from storage next time, not from the page cache. Without effect where the file
  /// system does not offer it.
  void drop_cache(std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  struct Access;

  InputFile(std::shared_ptr<Access> access, int fd, std::string path, const FileIdentity& identity);
  void open_direct() const;
  Error end_of_file(std::uint64_t at, std::size_t missing) const;

  int fd_ = -1;
  std::string path_;
  FileIdentity identity_;
  /// Closes the descriptors, and has what has been learned about the file system.
  std::shared_ptr<Access> access_;
};

}  // namespace dovetail::detail
