// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/call_events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <utility>

#ifdef DOVETAIL_WITH_URING
#include <liburing.h>
#endif

#include "tests/support/nth_event.h"

namespace dovetail::test {
namespace {

// Written while nothing is armed and no call is under way that saw it armed.
AtEvent::At action;

NthEvent nth_event;
std::atomic<bool> only_reads = false;

void count(CallEvent event, int file = -1, std::int64_t offset = 0) {
  if (only_reads.load(std::memory_order_relaxed) && event != CallEvent::read_begins) return;
  nth_event.meet([file, offset] { action(file, offset); });
}

/// A call, and what counts of it.
template <class Call>
auto counted(CallEvent event, Call call, int file = -1, std::int64_t offset = 0) {
  count(event, file, offset);
  const auto result = call();
  const int reason = errno;
  count(CallEvent::other);
  errno = reason;
  return result;
}

}  // namespace

AtEvent::AtEvent(std::uint64_t n, At at, Counted counted) {
  action = std::move(at);
  only_reads = counted == Counted::only_reads;
  nth_event.arm(n);
}

AtEvent::~AtEvent() {
  nth_event.disarm();
  nth_event.settle();
  action = nullptr;
}

bool AtEvent::disarm() noexcept {
  return nth_event.disarm();
}

}  // namespace dovetail::test

using dovetail::test::CallEvent;
using dovetail::test::counted;
using dovetail::test::nth_event;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_fstat(int file, struct stat* status);
ssize_t __real_preadv(int file, const iovec* parts, int count, off_t offset);
ssize_t __real_preadv2(int file, const iovec* parts, int count, off_t offset, int flags);

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  return counted(CallEvent::other, [&] { return __real_open(path, flags, mode); });
}

int __wrap_fstat(int file, struct stat* status) {
  return counted(CallEvent::other, [&] { return __real_fstat(file, status); });
}

ssize_t __wrap_preadv(int file, const iovec* parts, int count, off_t offset) {
  return counted(
      CallEvent::read_begins, [&] { return __real_preadv(file, parts, count, offset); }, file, offset);
}

ssize_t __wrap_preadv2(int file, const iovec* parts, int count, off_t offset, int flags) {
  if (nth_event.armed() && (flags & RWF_NOWAIT) != 0) {
    dovetail::test::count(CallEvent::other);
    errno = EAGAIN;
    return -1;
  }
  return __real_preadv2(file, parts, count, offset, flags);
}

#ifdef DOVETAIL_WITH_URING
int __real_io_uring_submit_and_wait(io_uring* ring, unsigned wanted);
unsigned __real_io_uring_peek_batch_cqe(io_uring* ring, io_uring_cqe** entries, unsigned count);

int __wrap_io_uring_submit_and_wait(io_uring* ring, unsigned wanted) {
  return counted(CallEvent::other, [&] { return __real_io_uring_submit_and_wait(ring, wanted); });
}

unsigned __wrap_io_uring_peek_batch_cqe(io_uring* ring, io_uring_cqe** entries, unsigned count) {
  const unsigned there = __real_io_uring_peek_batch_cqe(ring, entries, count);
  for (unsigned i = 0; i < there; ++i) dovetail::test::count(CallEvent::other);
  return there;
}
#endif

}  // extern "C"
