// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/system_faults.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <iostream>
#include <string>

#include "tests/faults/exchange_refused.h"

namespace dovetail::test {
namespace {

std::atomic<int> armed = -1;  // the fault, if any
std::atomic<bool> lasting = false;
std::atomic<std::uint64_t> place = 0;
std::atomic<std::uint64_t> calls = 0;
std::atomic<bool> has_kept = false;  // something was not removed
std::atomic<bool> cold = false;
/// A file with bytes that cannot be read.
struct BadFile {
  std::atomic<bool> armed = false;
  dev_t device = 0;
  ino_t number = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::atomic<std::uint64_t> failures_left = 0;
  std::atomic<std::uint64_t> reads = 0;
  std::atomic<std::uint64_t> failed = 0;
};
BadFile bad_file;

/// Whether this call, which can have these faults, has the one that is armed.
template <class... Possible>
bool has_fault(Possible... possible) {
  const int fault = armed.load();
  if (fault == static_cast<int>(Fault::killed) && ++calls == place.load()) ::kill(::getpid(), SIGKILL);
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
    case Fault::no_memory:
      return ENOMEM;
    case Fault::short_count:
    case Fault::end_of_file:
    case Fault::killed:
      break;
  }
  return 0;
}

int failed() {
  errno = error_of_fault();
  return -1;
}

/// Of a removal, of which nothing but a test's own care undoes the failure.
int failed_removal() {
  has_kept = true;
  return failed();
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
  has_kept = false;
  armed = static_cast<int>(fault);
}

FaultAt::~FaultAt() {
  armed = -1;
}

UnreadableBytes::UnreadableBytes(const std::string& path, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t failures) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) ADD_FAILURE() << path << " is not there";
  bad_file.device = status.st_dev;
  bad_file.number = status.st_ino;
  bad_file.begin = begin;
  bad_file.end = end;
  bad_file.failures_left = failures;
  bad_file.reads = 0;
  bad_file.failed = 0;
  bad_file.armed = true;
}

UnreadableBytes::~UnreadableBytes() {
  bad_file.armed = false;
}

std::uint64_t UnreadableBytes::reads() noexcept {
  return bad_file.reads;
}

std::uint64_t UnreadableBytes::failed_reads() noexcept {
  return bad_file.failed;
}

bool FaultAt::struck() noexcept {
  return calls.load() >= place.load();
}

bool FaultAt::removal_failed() noexcept {
  return has_kept.load();
}

bool FaultAt::lasted() noexcept {
  return lasting.load();
}

ColdCache::ColdCache() {
  cold = true;
}

ColdCache::~ColdCache() {
  cold = false;
}

void count_faults(std::uint64_t faults, const char* what) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::cout << test.name() << ": " << faults << ' ' << what << std::endl;
  ::testing::Test::RecordProperty(what, std::to_string(faults));
}

}  // namespace dovetail::test

using dovetail::test::error_of_fault;
using dovetail::test::failed;
using dovetail::test::failed_removal;
using dovetail::test::Fault;
using dovetail::test::has_fault;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_openat(int folder, const char* path, int flags, ...);
ssize_t __real_pread(int file, void* bytes, std::size_t size, off_t offset);
ssize_t __real_preadv(int file, const iovec* parts, int count, off_t offset);
ssize_t __real_preadv2(int file, const iovec* parts, int count, off_t offset, int flags);
ssize_t __real_write(int file, const void* bytes, std::size_t size);
int __real_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
int __real_close(int file);
DIR* __real_opendir(const char* path);
dirent* __real_readdir(DIR* folder);
ssize_t __real_pwrite(int file, const void* bytes, std::size_t size, off_t offset);

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

/// A call of the system that only fails, as `fails` says, where it has one of the faults.
#define FAILING_CALL(name, parameters, arguments, fails, ...)          \
  int __real_##name parameters;                                        \
  int __wrap_##name parameters {                                       \
    return has_fault(__VA_ARGS__) ? fails() : __real_##name arguments; \
  }

FAILING_CALL(fstat, (int file, struct stat* status), (file, status), failed, Fault::io_error)
FAILING_CALL(renameat, (int from_folder, const char* from, int to_folder, const char* to),
             (from_folder, from, to_folder, to), failed, Fault::io_error, Fault::no_space)
FAILING_CALL(linkat, (int from_folder, const char* from, int to_folder, const char* to, int flags),
             (from_folder, from, to_folder, to, flags), failed, Fault::io_error, Fault::no_space)
FAILING_CALL(fstatat, (int folder, const char* path, struct stat* status, int flags), (folder, path, status, flags),
             failed, Fault::io_error)
FAILING_CALL(faccessat, (int folder, const char* path, int mode, int flags), (folder, path, mode, flags), failed,
             Fault::io_error)
FAILING_CALL(fchmod, (int file, mode_t mode), (file, mode), failed, Fault::io_error, Fault::no_space)
FAILING_CALL(fchown, (int file, uid_t user, gid_t group), (file, user, group), failed, Fault::io_error, Fault::no_space)
FAILING_CALL(ftruncate, (int file, off_t size), (file, size), failed, Fault::io_error, Fault::no_space)
FAILING_CALL(lstat, (const char* path, struct stat* status), (path, status), failed, Fault::io_error)
FAILING_CALL(stat, (const char* path, struct stat* status), (path, status), failed, Fault::io_error)
FAILING_CALL(statx, (int folder, const char* path, int flags, unsigned mask, struct statx* status),
             (folder, path, flags, mask, status), failed, Fault::io_error)
FAILING_CALL(mkdir, (const char* path, mode_t mode), (path, mode), failed, Fault::io_error, Fault::no_space)
FAILING_CALL(mkdirat, (int folder, const char* path, mode_t mode), (folder, path, mode), failed, Fault::io_error,
             Fault::no_space)
FAILING_CALL(rmdir, (const char* path), (path), failed_removal, Fault::io_error)
FAILING_CALL(unlinkat, (int folder, const char* path, int flags), (folder, path, flags), failed_removal,
             Fault::io_error)

#undef FAILING_CALL

/// A read of a part of what was asked for: of the first piece half, but something.
static ssize_t read_less(int file, const iovec* parts, off_t offset) {
  const iovec less{parts->iov_base, (parts->iov_len + 1) / 2};
  return __real_preadv(file, &less, 1, offset);
}

static bool read_has_fault() {
  return has_fault(Fault::io_error, Fault::interrupted, Fault::short_count, Fault::end_of_file, Fault::no_memory);
}

static ssize_t faulty_read(int file, const iovec* parts, off_t offset) {
  if (error_of_fault() != 0) return failed();
  return dovetail::test::armed.load() == static_cast<int>(Fault::short_count) ? read_less(file, parts, offset) : 0;
}

/// How many of the bytes can be read in one go; 0 where the first cannot.
static std::size_t readable(int file, std::size_t size, off_t offset) {
  auto& bad = dovetail::test::bad_file;
  if (!bad.armed) return size;
  struct stat status {};
  if (__real_fstat(file, &status) != 0 || status.st_dev != bad.device || status.st_ino != bad.number) return size;
  ++bad.reads;
  const auto begin = static_cast<std::uint64_t>(offset);
  const std::uint64_t end = std::min(bad.end, static_cast<std::uint64_t>(status.st_size));
  if (begin + size <= bad.begin || begin >= end || bad.failures_left == 0) return size;
  if (begin < bad.begin) return bad.begin - begin;
  --bad.failures_left;
  ++bad.failed;
  errno = EIO;
  return 0;
}

ssize_t __wrap_pread(int file, void* bytes, std::size_t size, off_t offset) {
  if (read_has_fault()) {
    const iovec part{bytes, size};
    return faulty_read(file, &part, offset);
  }
  const std::size_t most = size > 0 ? readable(file, size, offset) : 0;
  return size > 0 && most == 0 ? -1 : __real_pread(file, bytes, most, offset);
}

ssize_t __wrap_preadv(int file, const iovec* parts, int count, off_t offset) {
  if (read_has_fault()) return faulty_read(file, parts, offset);
  if (!dovetail::test::bad_file.armed || count == 0) return __real_preadv(file, parts, count, offset);
  const std::size_t most = readable(file, parts->iov_len, offset);
  if (most == 0 && parts->iov_len > 0) return -1;
  return __real_pread(file, parts->iov_base, most, offset);
}

ssize_t __wrap_preadv2(int file, const iovec* parts, int count, off_t offset, int flags) {
  if (dovetail::test::cold.load() && (flags & RWF_NOWAIT) != 0) {
    errno = EAGAIN;
    return -1;
  }
  return read_has_fault() ? faulty_read(file, parts, offset) : __real_preadv2(file, parts, count, offset, flags);
}

ssize_t __wrap_write(int file, const void* bytes, std::size_t size) {
  if (!has_fault(Fault::io_error, Fault::interrupted, Fault::short_count, Fault::no_space)) {
    return __real_write(file, bytes, size);
  }
  return error_of_fault() != 0 ? failed() : __real_write(file, bytes, (size + 1) / 2);
}

int __wrap_fsync(int /*file*/) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed() : 0;
}

int __wrap_fdatasync(int /*file*/) {
  return has_fault(Fault::io_error, Fault::no_space) ? failed() : 0;
}

int __wrap_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (flags == RENAME_EXCHANGE && dovetail::test::ExchangeRefused::now()) {
    errno = EINVAL;
    return -1;
  }
  return has_fault(Fault::io_error, Fault::no_space) ? failed()
                                                     : __real_renameat2(from_folder, from, to_folder, to, flags);
}

/// The descriptor is gone in any case, as it is on Linux.
int __wrap_close(int file) {
  const int closed = __real_close(file);
  return has_fault(Fault::io_error) ? failed() : closed;
}

DIR* __wrap_opendir(const char* path) {
  if (!has_fault(Fault::io_error, Fault::interrupted, Fault::out_of_files)) return __real_opendir(path);
  errno = error_of_fault();
  return nullptr;
}

dirent* __wrap_readdir(DIR* folder) {
  if (!has_fault(Fault::io_error)) return __real_readdir(folder);
  errno = error_of_fault();
  return nullptr;
}

ssize_t __wrap_pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  if (!has_fault(Fault::io_error, Fault::interrupted, Fault::short_count, Fault::no_space)) {
    return __real_pwrite(file, bytes, size, offset);
  }
  return error_of_fault() != 0 ? failed() : __real_pwrite(file, bytes, (size + 1) / 2, offset);
}

}  // extern "C"
