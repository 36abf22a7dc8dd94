// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace dovetail::test {

/// How far counts lie from being equal: chi-squared, in its own standard deviations. Uniform ones
/// stay within a few; the seeds are fixed, so a test either always passes or never does.
inline double deviation(const std::vector<std::uint64_t>& counts, std::uint64_t degrees_of_freedom) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  const double mean = total / static_cast<double>(counts.size());
  double chi_squared = 0;
  for (const std::uint64_t count : counts) {
    const double difference = static_cast<double>(count) - mean;
    chi_squared += difference * difference / mean;
  }
  const auto freedom = static_cast<double>(degrees_of_freedom);
  return (chi_squared - freedom) / std::sqrt(2 * freedom);
}

/// More than this is no accident.
inline constexpr double kLimit = 4.5;

}  // namespace dovetail::test
