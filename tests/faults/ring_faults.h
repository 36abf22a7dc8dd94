// SPDX-License-Identifier: Apache-2.0
// The calls of liburing, failing when a test says so. The program is linked with --wrap for each of
// them.
#pragma once

#include <cstdint>
#include <ostream>

#include "tests/faults/system_faults.h"

namespace dovetail::test {

enum class RingFault : std::uint8_t {
  read_error,          ///< A read completes with EIO,
  read_cancelled,      ///< with ECANCELED,
  read_interrupted,    ///< with EINTR,
  read_again,          ///< with EAGAIN,
  short_count,         ///< with half of its bytes,
  end_of_file,         ///< or with none.
  submit_interrupted,  ///< Submitting and waiting gives EINTR and does nothing,
  submit_again,        ///< or EAGAIN,
  submit_busy,         ///< or EBUSY,
  submit_no_memory,    ///< or ENOMEM.
};
inline constexpr RingFault kRingFaults[] = {
    RingFault::read_error,  RingFault::read_cancelled,  RingFault::read_interrupted,   RingFault::read_again,
    RingFault::short_count, RingFault::end_of_file,     RingFault::submit_interrupted, RingFault::submit_again,
    RingFault::submit_busy, RingFault::submit_no_memory};
std::ostream& operator<<(std::ostream& out, RingFault fault);

/// While it lives, the n-th read that completes, or the n-th submission, has the fault; if it
/// lasts, so have all later ones.
///
/// Threads: completions and submissions of all rings count.
class RingFaultAt {
 public:
  RingFaultAt(RingFault fault, std::uint64_t n, bool lasts);
  RingFaultAt(const RingFaultAt&) = delete;
  RingFaultAt& operator=(const RingFaultAt&) = delete;
  ~RingFaultAt();

  /// Whether there were so many.
  static bool struck() noexcept;
};

/// While it lives, a call that sets up a ring fails with this `errno`: the first so many times.
class RingRefused {
 public:
  enum class Call : std::uint8_t { queue_init, probe, register_buffers };

  RingRefused(Call call, int error, unsigned times);
  RingRefused(const RingRefused&) = delete;
  RingRefused& operator=(const RingRefused&) = delete;
  ~RingRefused();

  /// How often it has failed.
  static unsigned failures() noexcept;
};

/// `with_every_fault` with the faults of rings, all of which the library has to make up for.
template <class Work>
std::uint64_t with_every_ring_fault(Work work) {
  std::uint64_t faults = 0;
  for (const RingFault fault : kRingFaults) {
    for (const bool lasts : {false, true}) {
      bool struck = true;
      for (std::uint64_t n = 1; struck && !::testing::Test::HasFailure(); n += kFaultStep) {
        ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     ::testing::Message() << fault << " at " << n << (lasts ? " and later" : ""));
        const RingFaultAt fault_at(fault, n, lasts);
        EXPECT_TRUE(work());
        struck = RingFaultAt::struck();
        faults += struck ? 1 : 0;
      }
    }
  }
  return faults;
}

}  // namespace dovetail::test
