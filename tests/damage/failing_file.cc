// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/failing_file.h"

#include <sys/stat.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>

namespace dovetail::test {
namespace {

std::atomic<ino_t> failing = 0;
std::atomic<std::uint64_t> failed = 0;

bool fails(int file) {
  const ino_t wanted = failing.load();
  struct stat status {};
  if (wanted == 0 || ::fstat(file, &status) != 0 || status.st_ino != wanted) return false;
  ++failed;
  errno = EIO;
  return true;
}

}  // namespace

FailingFile::FailingFile(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw std::runtime_error("no file " + path);
  failing = status.st_ino;
}

FailingFile::~FailingFile() {
  failing = 0;
}

std::uint64_t FailingFile::reads() noexcept {
  return failed;
}

}  // namespace dovetail::test

using dovetail::test::fails;

extern "C" {

ssize_t __real_preadv(int file, const iovec* parts, int count, off_t offset);
ssize_t __real_preadv2(int file, const iovec* parts, int count, off_t offset, int flags);

ssize_t __wrap_preadv(int file, const iovec* parts, int count, off_t offset) {
  return fails(file) ? -1 : __real_preadv(file, parts, count, offset);
}

ssize_t __wrap_preadv2(int file, const iovec* parts, int count, off_t offset, int flags) {
  return fails(file) ? -1 : __real_preadv2(file, parts, count, offset, flags);
}

}  // extern "C"
