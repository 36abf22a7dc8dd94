// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <dovetail/error.h>

#include "format/process_mark.h"
#include "writer/descriptor.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// A lock (`flock`) on a file of its own. The system releases the lock when the process ends.
///
/// File systems without locks grant every lock. There the user must not start two writers.
/// Ownership: belongs to the process that took it; a forked child does not release it.
class FileLock {
 public:
  enum class Access : std::uint8_t { exclusive, shared };

  /// Creates the file if it does not exist. Does not wait.
  /// Errors: `busy` if another process has the lock; the system's.
  static Result<FileLock> take(const OutputFolder& folder, const std::string& name, Access access);

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(created_, other.created_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~FileLock();

  /// Returns whether `take` created the file.
  bool created() const noexcept { return created_; }
  /// Makes a shared lock exclusive. Returns false if other processes share it. The lock may then be
  /// lost, so this must be the last call.
  bool make_exclusive() noexcept;
  /// Replaces the content of the file, durably. `path` is for messages. Errors: the system's.
  Result<void> write(std::string_view text, const std::string& path) const;
  /// Returns up to the first 256 bytes of the file. Errors: the system's.
  Result<std::string> read(const std::string& path) const;
  void release() noexcept;

 private:
  FileLock(Descriptor file, bool created) noexcept : file_(std::move(file)), created_(created) {}

  Descriptor file_;
  bool created_ = false;
  ProcessMark process_;
};

/// Returns whether another lock on the file prevents this access. Returns false if the file system
/// has no locks.
bool is_locked(const OutputFolder& folder, const std::string& name,
               FileLock::Access access = FileLock::Access::shared) noexcept;

}  // namespace dovetail::detail
