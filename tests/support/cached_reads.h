// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace dovetail::test {

/// Whether there are reads of the page cache alone: not in an emulator, nor on every file system.
inline bool can_read_without_waiting(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  const iovec into{.iov_base = &byte, .iov_len = 1};
  const ssize_t got = ::preadv2(file, &into, 1, 0, RWF_NOWAIT);
  const bool lacking = got < 0 && errno == EOPNOTSUPP;
  ::close(file);
  return !lacking;
}

}  // namespace dovetail::test
