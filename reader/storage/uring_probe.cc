// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/uring_probe.h"

#include <liburing.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <boost/system/system_category.hpp>

namespace dovetail::detail {
namespace {

constexpr int kAttempts = 20;
constexpr std::chrono::milliseconds kPause{10};

Error unusable(const std::string& why) {
  return Error(Errc::resource_limit, "io_uring cannot be used: " + why + ", or use pread");
}

std::string why_forbidden() {
  char setting = '0';
  std::ifstream("/proc/sys/kernel/io_uring_disabled") >> setting;
  if (setting != '0') return std::string("the sysctl kernel.io_uring_disabled is ") + setting + "; set it to 0";
  return "a seccomp filter forbids it, as in many containers; allow io_uring_setup, io_uring_enter and "
         "io_uring_register";
}

Error explain(int error) {
  switch (error) {
    case ENOSYS:
      return unusable("the kernel lacks it or the operations that reading needs; use kernel 5.6 or newer");
    case EPERM:
    case EACCES:
      return unusable(why_forbidden());
    case ENOMEM:
      return unusable("the limit of locked memory is too low; raise RLIMIT_MEMLOCK (ulimit -l)");
    case EMFILE:
    case ENFILE:
      return unusable("the limit of open files is reached; raise RLIMIT_NOFILE (ulimit -n)");
    default:
      return unusable(boost::system::system_category().message(error) + "; see the system's log");
  }
}

int open_with_best_flags(unsigned entries, ::io_uring& ring) {
  // With these flags, completions are processed when this thread waits for them, without
  // interrupting it. Since Linux 6.1.
  int error = -::io_uring_queue_init(entries, &ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
  if (error == EINVAL) error = -::io_uring_queue_init(entries, &ring, 0);
  return error;
}

// Returns 0 if the kernel has all operations that reading needs, else an error number.
int check_operations(::io_uring& ring) {
  // Not io_uring_get_probe_ring, which gives no reason if it fails.
  constexpr unsigned kMostOperations = 256;
  const std::unique_ptr<io_uring_probe, decltype(&std::free)> probe(
      static_cast<io_uring_probe*>(
          std::calloc(1, sizeof(io_uring_probe) + kMostOperations * sizeof(io_uring_probe_op))),
      &std::free);
  if (probe == nullptr) return ENOMEM;
  const int error = -::io_uring_register_probe(&ring, probe.get(), kMostOperations);
  if (error == EINVAL) return ENOSYS;  // Linux before 5.6 has no probe either
  if (error != 0) return error;
  for (const int operation : {IORING_OP_READV, IORING_OP_READ, IORING_OP_READ_FIXED, IORING_OP_POLL_ADD}) {
    if (::io_uring_opcode_supported(probe.get(), operation) == 0) return ENOSYS;
  }
  return 0;
}

}  // namespace

Result<void> open_ring(unsigned entries, ::io_uring& ring) {
  int error = open_with_best_flags(entries, ring);
  // The kernel releases the locked memory of a closed ring some time after the close. So a reader
  // that follows another may be too early.
  for (int attempt = 0; error == ENOMEM && attempt < kAttempts; ++attempt) {
    std::this_thread::sleep_for(kPause);
    error = open_with_best_flags(entries, ring);
  }
  if (error != 0) return explain(error);

  error = check_operations(ring);
  if (error == 0) return {};
  ::io_uring_queue_exit(&ring);
  return explain(error);
}

}  // namespace dovetail::detail
