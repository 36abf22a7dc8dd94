// SPDX-License-Identifier: Apache-2.0
// The system's calls on files, failing when a test says so. The program is linked with --wrap for
// each of them, so that what runs is the library's own code around the real calls; only syncing is
// left out, which would take most of the time.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <ostream>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/sanitizers.h"

namespace dovetail::test {

enum class Fault : std::uint8_t {
  io_error,      ///< EIO, of any call.
  interrupted,   ///< EINTR, of calls that may give it: open, read, write.
  short_count,   ///< Fewer bytes than asked for, of a read or a write.
  end_of_file,   ///< A read finds no more bytes.
  no_space,      ///< ENOSPC, of what makes or extends a file or folder: open, write, sync, rename, link, mkdir.
  out_of_files,  ///< EMFILE, of an open.
  no_memory,     ///< ENOMEM, of a read. Not among `kFaults`.
  killed,        ///< The process is killed before a call, whichever it is. Not among `kFaults`.
};
inline constexpr Fault kFaults[] = {Fault::io_error,    Fault::interrupted, Fault::short_count,
                                    Fault::end_of_file, Fault::no_space,    Fault::out_of_files};
std::ostream& operator<<(std::ostream& out, Fault fault);

/// While it lives, the n-th call that can have the fault has it; if it lasts, so have all later
/// ones.
///
/// Threads: calls of all threads count.
class FaultAt {
 public:
  FaultAt(Fault fault, std::uint64_t n, bool lasts);
  FaultAt(const FaultAt&) = delete;
  FaultAt& operator=(const FaultAt&) = delete;
  ~FaultAt();

  /// Whether there were so many calls.
  static bool struck() noexcept;
  /// Whether the last one that lived kept a file or folder from being removed: then it is still
  /// there.
  static bool removal_failed() noexcept;
  /// Whether the last one that lived lasted.
  static bool lasted() noexcept;
};

/// While it lives, reads that begin in these bytes of a file give EIO, and those that reach them
/// end before: what a disk with bad sectors does. Other programs and other files are not concerned.
///
/// Threads: reads of all threads count.
class UnreadableBytes {
 public:
  /// With `failures` only the first so many of these reads fail.
  UnreadableBytes(const std::string& path, std::uint64_t begin, std::uint64_t end, std::uint64_t failures = ~0ull);
  UnreadableBytes(const UnreadableBytes&) = delete;
  UnreadableBytes& operator=(const UnreadableBytes&) = delete;
  ~UnreadableBytes();

  /// Reads of the file since then, and those of them that failed.
  static std::uint64_t reads() noexcept;
  static std::uint64_t failed_reads() noexcept;
};

/// While it lives, no read that may not wait finds its bytes, so that all go to the storage.
class ColdCache {
 public:
  ColdCache();
  ColdCache(const ColdCache&) = delete;
  ColdCache& operator=(const ColdCache&) = delete;
  ~ColdCache();
};

/// Prints how many faults a test has lived through, and adds them to its report.
void count_faults(std::uint64_t faults, const char* what = "faults");

/// A fault that the library has to make up for.
constexpr bool is_harmless(Fault fault) noexcept {
  return fault == Fault::interrupted || fault == Fault::short_count;
}

/// With a sanitizer, of so many places in a row only the first has its fault.
inline constexpr std::uint64_t kFaultStep = kSanitized ? 5 : 1;

/// Runs `work`, which says whether all went well, with each fault at every place, once and lasting,
/// until it runs untouched. `settle` is called after each run with no fault. Gives how many faults
/// there were.
template <class Work, class Settle>
std::uint64_t with_every_fault(Work work, Settle settle) {
  std::uint64_t faults = 0;
  for (const Fault fault : kFaults) {
    for (const bool lasts : {false, true}) {
      if (lasts && fault == Fault::interrupted) continue;  // whoever tries again would do so for ever
      bool struck = true;
      for (std::uint64_t n = 1; struck && !::testing::Test::HasFailure(); n += kFaultStep) {
        ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     ::testing::Message() << fault << " at call " << n << (lasts ? " and later" : ""));
        bool good = false;
        {
          const FaultAt armed(fault, n, lasts);
          good = work();
          struck = FaultAt::struck();
        }
        if (!struck || is_harmless(fault)) {
          EXPECT_TRUE(good);
        }
        settle(good);
        faults += struck ? 1 : 0;
      }
    }
  }
  return faults;
}

/// Runs `work` in a child that is killed at every place in turn, until it ends by itself. `look` is
/// called after each, with whether it did. Gives how many were killed.
template <class Work, class Look>
std::uint64_t with_every_kill(Work work, Look look) {
  if (kThreadSanitized) return 0;  // it does not follow a process with threads into a fork
  std::uint64_t killed = 0;
  for (bool ended = false; !ended && !::testing::Test::HasFailure(); look(ended)) {
    const std::uint64_t place = 1 + killed * kFaultStep;
    ::testing::ScopedTrace trace(__FILE__, __LINE__, ::testing::Message() << "killed at call " << place);
    const pid_t child = ::fork();
    if (child == 0) {
      const FaultAt armed(Fault::killed, place, false);
      ::_exit(work() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    ended = WIFEXITED(status);
    EXPECT_TRUE(!ended || WEXITSTATUS(status) == 0);
    killed += ended ? 0 : 1;
  }
  return killed;
}

}  // namespace dovetail::test
