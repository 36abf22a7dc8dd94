// SPDX-License-Identifier: Apache-2.0
// How much memory a piece of work takes at its peak, as the system counts it: all pages, whoever
// asked for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace dovetail::test {

/// Pages that this process gained since it was made, at the most.
class PeakMeter {
 public:
  /// Gives what is free back to the system and begins to count.
  PeakMeter();
  /// In bytes.
  std::int64_t peak() const;

 private:
  std::int64_t before_ = 0;
};

/// What a child said of its work, or that it did not end well.
struct Told {
  std::int64_t peak = 0;  ///< In bytes.
  std::string note;       ///< As the work gave it.
  bool ended = false;     ///< Whether it ended by itself, without an exception.
};

/// Whether peaks can be measured here: not under sanitizers, which keep what is freed, nor where
/// the kernel does not let a process forget its peak.
bool can_measure_peaks();

/// Runs the work in a fork of this process, which must have one thread only, and measures it from
/// where the meter begins that the work is given; whatever it did before does not count.
Told peak_of(const std::function<std::string(PeakMeter& meter)>& work);

}  // namespace dovetail::test
