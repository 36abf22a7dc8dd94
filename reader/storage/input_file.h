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

/// The state of a file. After a file was replaced or rewritten, at least one of these differs.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t modified_ns = 0;  ///< Since 1970, modulo 2^64.

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// The destination of one read: fills `first`, then `second`. For example a header goes to `first`,
/// its record to a row.
struct ReadInto {
  std::span<std::byte> first = {};
  std::span<std::byte> second = {};

  std::size_t size() const noexcept { return first.size() + second.size(); }
  /// The same destination without its first `bytes`, which are at most `size()`.
  ReadInto after(std::size_t bytes) const noexcept;
  /// Only the first `bytes` of the destination, which are at most `size()`.
  ReadInto before(std::size_t bytes) const noexcept;
  /// Copies `bytes`, which are at most `size()`, to the front of the destination.
  void copy_from(std::span<const std::byte> bytes) const noexcept;
};

/// A second descriptor of a file that reads past the page cache.
struct DirectAccess {
  int fd = -1;
  /// Offset, size and memory address of every read must be multiples of this.
  std::size_t alignment = 0;
};

/// A regular file opened for reading.
///
/// Ownership: owns its descriptors, together with files made by `share`; move-only. A moved-from
///            file may only be assigned to or destroyed.
/// Threads:   const calls may run concurrently; no file position is shared.
/// Errors:    all name the file, and those of `read` the offset.
class InputFile {
 public:
  /// Errors: those of the system (`EISDIR` for a folder); `unknown_format` for devices, pipes and
  ///         sockets.
  static Result<InputFile> open(const std::string& path);

  InputFile(InputFile&&) noexcept = default;
  InputFile& operator=(InputFile&&) noexcept = default;
  ~InputFile() = default;

  /// The same open file. Its descriptors are closed with the last such object.
  InputFile share() const { return *this; }

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept;
  /// The size of the file when it was opened.
  std::uint64_t size() const noexcept { return identity_.bytes; }

  /// Fills `into` from `offset` on. Errors: `truncated` past the end; `file_changed` if the end has
  /// moved since the file was opened; those of the system.
  Result<void> read(std::uint64_t offset, ReadInto into) const;
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const { return read(offset, ReadInto{into}); }

  /// The same without waiting for a device. Returns false if it would have to wait, or cannot tell.
  /// Then `into` may be filled in part, and only `read` reports errors. Cost: one system call; none
  /// after the file system or a sandbox has refused such reads.
  Result<bool> try_read(std::uint64_t offset, ReadInto into) const;

  /// Access past the page cache, opened at the first call. Empty if the file system does not offer
  /// it. Borrowed from the file. Cost: the first call opens the file again.
  std::optional<DirectAccess> direct() const;
  /// Makes `direct()` return nothing from now on, for file systems that refuse only at the first
  /// read.
  void refuse_direct() const noexcept;

  /// Errors: `file_changed` unless the open file still has the state in which it was opened.
  Result<void> check_unchanged() const;

  /// Asks the system to drop this range from the page cache, so that the next read comes from
  /// storage. Has no effect if the file system does not support it.
  void drop_cache(std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  struct Access;

  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = default;
  void open_direct() const;
  Error end_of_file(std::uint64_t at, std::size_t missing) const;

  std::string path_;
  FileIdentity identity_;
  /// Owns the descriptors, and stores what was learned about the file system.
  std::shared_ptr<Access> access_;
};

}  // namespace dovetail::detail
