// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dovetail::bench {

/// One way to get page-locked memory, and what it took in each round.
struct RegistrationCost {
  std::string how;  ///< "cudaHostAlloc", or the pages of a mapping that is registered.
  unsigned threads = 1;
  std::uint64_t bytes = 0;
  std::vector<double> seconds;
  std::string skipped;  ///< Why there is no time, else empty.
};

/// Memory for slots as the library makes it, with each kind of pages and with 1 and `threads`
/// threads, beside cudaHostAlloc.
std::vector<RegistrationCost> measure_registration(const std::vector<std::uint64_t>& sizes, unsigned threads,
                                                   std::uint32_t rounds);

}  // namespace dovetail::bench
