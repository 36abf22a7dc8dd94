// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/ring_faults.h"

#include <liburing.h>

#include <atomic>
#include <cerrno>
#include <optional>

namespace dovetail::test {
namespace {

// What a completion that is no read is called: the one that wakes the thread of the ring.
constexpr std::uint64_t kNoRead = ~std::uint64_t{0};

std::atomic<int> ring_fault = -1;  // the fault, if any
std::atomic<bool> ring_fault_lasts = false;
std::atomic<std::uint64_t> ring_fault_place = 0;
std::atomic<std::uint64_t> events = 0;

std::atomic<int> refused_call = -1;  // the call, if any
std::atomic<int> refusal = 0;
std::atomic<unsigned> refusals_left = 0;
std::atomic<unsigned> refusals = 0;

bool has_fault() {
  const std::uint64_t event = ++events;
  return event == ring_fault_place.load() || (ring_fault_lasts.load() && event > ring_fault_place.load());
}

/// What a submission gives instead; nothing where submissions are not what fails.
std::optional<int> failed_submission() {
  switch (static_cast<RingFault>(ring_fault.load())) {
    case RingFault::submit_interrupted:
      return -EINTR;
    case RingFault::submit_again:
      return -EAGAIN;
    case RingFault::submit_busy:
      return -EBUSY;
    case RingFault::submit_no_memory:
      return -ENOMEM;
    default:
      return std::nullopt;
  }
}

/// What a read of so many bytes gives instead; nothing where reads are not what fails.
std::optional<int> failed_read(int bytes) {
  switch (static_cast<RingFault>(ring_fault.load())) {
    case RingFault::read_error:
      return -EIO;
    case RingFault::read_cancelled:
      return -ECANCELED;
    case RingFault::read_interrupted:
      return -EINTR;
    case RingFault::read_again:
      return -EAGAIN;
    case RingFault::short_count:
      return (bytes + 1) / 2;
    case RingFault::end_of_file:
      return 0;
    default:
      return std::nullopt;
  }
}

bool is_refused(RingRefused::Call call) {
  if (refused_call.load() != static_cast<int>(call) || refusals_left.load() == 0) return false;
  --refusals_left;
  ++refusals;
  return true;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, RingFault fault) {
  constexpr const char* kNames[] = {"read_error",  "read_cancelled",  "read_interrupted",   "read_again",
                                    "short_count", "end_of_file",     "submit_interrupted", "submit_again",
                                    "submit_busy", "submit_no_memory"};
  return out << kNames[static_cast<std::size_t>(fault)];
}

RingFaultAt::RingFaultAt(RingFault fault, std::uint64_t n, bool lasts) {
  ring_fault_place = n;
  events = 0;
  ring_fault_lasts = lasts;
  ring_fault = static_cast<int>(fault);
}

RingFaultAt::~RingFaultAt() {
  ring_fault = -1;
}

bool RingFaultAt::struck() noexcept {
  return events.load() >= ring_fault_place.load();
}

RingRefused::RingRefused(Call call, int error, unsigned times) {
  refusal = error;
  refusals_left = times;
  refusals = 0;
  refused_call = static_cast<int>(call);
}

RingRefused::~RingRefused() {
  refused_call = -1;
}

unsigned RingRefused::failures() noexcept {
  return refusals.load();
}

}  // namespace dovetail::test

using dovetail::test::failed_read;
using dovetail::test::failed_submission;
using dovetail::test::has_fault;
using dovetail::test::is_refused;
using dovetail::test::kNoRead;
using dovetail::test::refusal;
using dovetail::test::ring_fault;
using dovetail::test::RingRefused;

extern "C" {

int __real_io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags);
int __real_io_uring_register_probe(io_uring* ring, io_uring_probe* probe, unsigned operations);
int __real_io_uring_register_buffers(io_uring* ring, const iovec* buffers, unsigned count);
int __real_io_uring_submit_and_wait(io_uring* ring, unsigned wanted);
unsigned __real_io_uring_peek_batch_cqe(io_uring* ring, io_uring_cqe** entries, unsigned count);

int __wrap_io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) {
  if (is_refused(RingRefused::Call::queue_init)) return -refusal.load();
  return __real_io_uring_queue_init(entries, ring, flags);
}

int __wrap_io_uring_register_probe(io_uring* ring, io_uring_probe* probe, unsigned operations) {
  if (is_refused(RingRefused::Call::probe)) return -refusal.load();
  return __real_io_uring_register_probe(ring, probe, operations);
}

int __wrap_io_uring_register_buffers(io_uring* ring, const iovec* buffers, unsigned count) {
  if (is_refused(RingRefused::Call::register_buffers)) return -refusal.load();
  return __real_io_uring_register_buffers(ring, buffers, count);
}

int __wrap_io_uring_submit_and_wait(io_uring* ring, unsigned wanted) {
  const std::optional<int> failed = failed_submission();
  if (ring_fault.load() >= 0 && failed && has_fault()) return *failed;
  return __real_io_uring_submit_and_wait(ring, wanted);
}

unsigned __wrap_io_uring_peek_batch_cqe(io_uring* ring, io_uring_cqe** entries, unsigned count) {
  const unsigned there = __real_io_uring_peek_batch_cqe(ring, entries, count);
  for (unsigned i = 0; ring_fault.load() >= 0 && i < there; ++i) {
    const std::optional<int> failed = failed_read(entries[i]->res);
    if (failed && entries[i]->user_data != kNoRead && entries[i]->res > 0 && has_fault()) entries[i]->res = *failed;
  }
  return there;
}

}  // extern "C"
