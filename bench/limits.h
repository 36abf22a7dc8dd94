// SPDX-License-Identifier: Apache-2.0
// What the parts of delivery cost on their own, with the buffers that delivery uses: the limits it
// is compared with.
#pragma once

#include <string>
#include <vector>

#include "bench/job.h"

namespace dovetail::bench {

/// One part. `Outcome::delivered.bytes` of it over `Outcome::seconds` is its rate.
struct Limit {
  const char* name;
  const char* what;    ///< In words, for the report.
  const char* counts;  ///< "stored" or "payload": which bytes it counts.
  bool cold;           ///< Reads from storage; the page cache has to be cold for it.
  void (*run)(const Job& job, Outcome& outcome);
};

/// All limits, and those that are of use for a workload and codec.
const std::vector<Limit>& all_limits();
std::vector<const Limit*> limits_of(const std::string& workload, bool snappy);

/// Measures the limit that `job.task` names for about `job.seconds` in this process; one that is
/// cold reads each of its pieces once at most.
/// Throws what fails.
Outcome measure_limit(const Job& job);

/// What a byte has to pass, one part after the other on the same processor.
struct Passage {
  std::string limit;  ///< Of these the fastest, separated by `|`.
  double share = 1;   ///< Bytes that the part counts for each byte of payload.
};
/// For data whose files have `stored` bytes for each byte of payload.
std::vector<Passage> passages_of(const std::string& workload, bool snappy, double stored);

}  // namespace dovetail::bench
