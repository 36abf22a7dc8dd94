// SPDX-License-Identifier: Apache-2.0
// Files that the system can no longer read. The program is linked with --wrap for the calls that
// read, so that what runs is the library's own code around the real calls.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail::test {

/// While it lives, every read of one file gives EIO. One at a time.
///
/// Threads: reads of all threads fail.
class FailingFile {
 public:
  explicit FailingFile(const std::string& path);
  FailingFile(const FailingFile&) = delete;
  FailingFile& operator=(const FailingFile&) = delete;
  ~FailingFile();

  /// Reads that failed so far, of all files.
  static std::uint64_t reads() noexcept;
};

}  // namespace dovetail::test
