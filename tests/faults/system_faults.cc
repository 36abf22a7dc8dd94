// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/system_faults.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>

namespace dovetail::testing {
namespace {

std::atomic<int> armed = -1;  // the fault, if any
std::atomic<bool> lasting = false;
std::atomic<std::uint64_t> place = 0;
std::atomic<std::uint64_t> calls = 0;

/// Whether this call, which can have these faults, has the one that is armed.
template <class... Possible>
bool has_fault(Possible... possible) {
  const int fault = armed.load();
  if (!((fault == static_cast<int>(possible)) || ...)) return false;
  const std::uint64_t call = ++calls;
  return call == place.load() || (lasting.load() && call > place.load());
}

/// What the fault is as an error; 0 for those that are none.
int error_of_fault() {
  switch (static_cast<Fault>(armed.load())) {
    case Fault::io_error:
      return EIO;
    case Fault::interrupted:
      return EINTR;
    case Fault::no_space:
      return ENOSPC;
    case Fault::out_of_files:
      return EMFILE;
    case Fault::short_count:
    case Fault::end_of_file:
      break;
  }
  return 0;
}

int failed() {
  errno = error_of_fault();
  return -1;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, Fault fault) {
  constexpr const char* kNames[] = {"io_error",    "interrupted", "short_count",
                                    "end_of_file", "no_space",    "out_of_files"};
  return out << kNames[static_cast<std::size_t>(fault)];
}

FaultAt::FaultAt(Fault fault, std::uint64_t n, bool lasts) {
  place = n;
  calls = 0;
  lasting = lasts;
  armed = static_cast<int>(fault);
}

FaultAt::~FaultAt() {
  armed = -1;
}

bool FaultAt::struck() noexcept {
  return calls.load() >= place.load();
}

}  // namespace dovetail::testing

using dovetail::testing::error_of_fault;
using dovetail::testing::failed;
using dovetail::testing::Fault;
using dovetail::testing::has_fault;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_openat(int folder, const char* path, int flags, ...);
int __real_fstat(int file, struct stat* status);
ssize_t __real_preadv(int file, const iovec* parts, int count, off_t offset);
ssize_t __real_preadv2(int file, const iovec* parts, int count, off_t offset, int flags);
ssize_t __real_write(int file, const void* bytes, std::size_t size);
int __real_fsync(int file);
int __real_fdatasync(int file);
int __real_renameat(int from_folder, const char* from, int to_folder, const char* to);
int __real_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
int __real_linkat(int from_folder, const char* from, int to_folder, const char* to, int flags);

static bool open_fails(int flags) {
  if ((flags & O_CREAT) != 0) {
    return has_fault(Fault::io_error, Fault::interrupted, Fault::out_of_files, Fault::no_space);
  }
  return has_fault(Fault::io_error, Fault::interrupted, Fault::out_of_files);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
}

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_fails(flags) ? failed() : __real_open(path, flags, mode);
}

int __wrap_openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_fails(flags) ? failed() : __real_openat(folder, path, flags, mode);
}

int __wrap_fstat(int file, struct stat* status) {
  return has_fault(Fault::io_error) ? failed() : __real_fstat(file, status);
}

/// A read of a part of what was asked for: of the first piece half, but something.
static ssize_t read_less(int file, const iovec* parts, off_t offset) {
  const iovec less{parts->iov_base, (parts->iov_len + 1) / 2};
  return __real_preadv(file, &less, 1, offset);
}

static bool read_has_fault() {
  return has_fault(Fault::io_error, Fault::interrupted, Fault::short_count, Fault::end_of_file);
}

static ssize_t faulty_read(int file, const iovec* parts, off_t offset) {
  if (error_of_fault() != 0) return failed();
  return dovetail::testing::armed.load() == static_cast<int>(Fault::short_count) ? read_less(file, parts, offset) : 0;
}

ssize_t __wrap_preadv(int file, const iovec* parts, int count, off_t offset) {
  return read_has_fault() ? faulty_read(file, parts, offset) : __real_preadv(file, parts, count, offset);
}

ssize_t __wrap_preadv2(int file, const iovec* parts, int count, off_t offset, int flags) {
  return read_has_fault() ? faulty_read(file, parts, offset) : __real_preadv2(file, parts, count, offset, flags);
}

ssize_t __wrap_write(int file, const void* bytes, std::size_t size) {
  if (!has_fault(Fault::io_error, Fault::interrupted, Fault::short_count, Fault::no_space)) {
    return __real_write(file, bytes, size);
  }
  return error_of_fault() != 0 ? failed() : __real_write(file, bytes, (size + 1) / 2);
}

int __wrap_fsync(int file) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed() : __real_fsync(file);
}

int __wrap_fdatasync(int file) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed() : __real_fdatasync(file);
}

int __wrap_renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed() : __real_renameat(from_folder, from, to_folder, to);
}

int __wrap_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed()
                                                     : __real_renameat2(from_folder, from, to_folder, to, flags);
}

int __wrap_linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed()
                                                     : __real_linkat(from_folder, from, to_folder, to, flags);
}

}  // extern "C"
