// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dovetail/error.h>

#include "format/process_mark.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// A lock (`flock`) on a file of its own, which the system releases with the process.
///
/// File systems without locks grant every lock; there the user must not start two writers.
/// Ownership: of the process that took it; a forked child does not release it.
class FileLock {
 public:
  enum class Access : std::uint8_t { exclusive, shared };

  /// Creates the file if it does not exist. Does not wait.
  /// Errors: `busy` where another process has the lock; the system's.
  static Result<FileLock> take(const OutputFolder& folder, const std::string& name, Access access);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  /// Whether `take` made the file.
  bool created() const noexcept { return created_; }
  /// Makes a shared lock exclusive. Returns false where others have it too; it may be lost then, so
  /// it must be the last call.
  bool make_exclusive() noexcept;
  /// Replaces what is in the file, durably. `path` is for messages. Errors: the system's.
  Result<void> write(std::string_view text, const std::string& path) const;
  /// Up to 256 bytes of what is in the file. Errors: the system's.
  Result<std::string> read(const std::string& path) const;
  void release() noexcept;

 private:
  FileLock(int descriptor, bool created) noexcept : descriptor_(descriptor), created_(created) {}

  int descriptor_ = -1;
  bool created_ = false;
  ProcessMark process_;
};

/// Whether a process has a lock on a file that keeps others from this access. False where the file system has no locks.
bool is_locked(const OutputFolder& folder, const std::string& name,
               FileLock::Access access = FileLock::Access::shared) noexcept;

}  // namespace dovetail::detail
