// SPDX-License-Identifier: Apache-2.0
#include "format/process_mark.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace dovetail::detail {

namespace {

std::atomic<std::uint64_t> forks = 0;  // between the first process and this one

}  // namespace

std::uint64_t ProcessMark::current() noexcept {
  static const bool counts = ::pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  // Without memory for the handler, the process id must do, which a later process may reuse.
  return counts ? forks.load(std::memory_order_relaxed) : static_cast<std::uint64_t>(::getpid());
}

Error ProcessMark::error() const {
  return Error(
      Errc::closed,
      "it was opened before this process was forked, and its threads and files belong to the parent; open another "
      "one here");
}

}  // namespace dovetail::detail
