// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

#include "bench/job.h"
#include "bench/processes.h"

namespace dovetail::bench {

/// When batches came, and the gaps between them: the longest, and one that only a thousandth of
/// them exceeds.
///
/// Threads: none. Cost: a look at the clock per batch, no allocation.
class BatchGaps {
 public:
  explicit BatchGaps(const Start& start) noexcept : start_(start) {}

  /// To be called once a batch has been taken.
  void taken(Outcome& outcome) noexcept {
    const double now = start_.seconds();
    if (batches_++ == 0) {
      outcome.first_batch_seconds = now;
      outcome.first_batch_bytes = outcome.delivered.bytes;
    } else {
      ++counts_[bucket_of(static_cast<std::uint64_t>((now - last_) * 1e9))];
    }
    last_ = now;
  }

  void finish(Outcome& outcome) const noexcept {
    std::uint64_t longer = 0;
    std::size_t bucket = kBuckets;
    while (bucket-- > 0 && outcome.longest_gap_seconds == 0) {
      if (counts_[bucket] != 0) outcome.longest_gap_seconds = top_of(bucket);
    }
    for (bucket = kBuckets; bucket-- > 0;) {
      longer += counts_[bucket];
      if (longer * 1000 <= batches_) continue;
      outcome.p999_gap_seconds = top_of(bucket);
      return;
    }
  }

 private:
  // Sixteen for each power of two of nanoseconds: a gap is told to 6 %.
  static constexpr unsigned kBits = 4;
  static constexpr std::size_t kBuckets = std::size_t{64} << kBits;

  static std::size_t bucket_of(std::uint64_t nanoseconds) noexcept {
    if (nanoseconds < std::uint64_t{1} << kBits) return static_cast<std::size_t>(nanoseconds);
    const auto shift = static_cast<unsigned>(std::bit_width(nanoseconds)) - 1 - kBits;
    return (std::size_t{shift} << kBits) + static_cast<std::size_t>(nanoseconds >> shift);
  }
  static double top_of(std::size_t bucket) noexcept {
    if (bucket < std::size_t{2} << kBits) return static_cast<double>(bucket) * 1e-9;
    const auto shift = static_cast<unsigned>(bucket >> kBits) - 1;
    const std::uint64_t mantissa = (bucket & ((1u << kBits) - 1)) + (1u << kBits) + 1;
    return static_cast<double>(mantissa) * static_cast<double>(std::uint64_t{1} << shift) * 1e-9;
  }

  const Start& start_;
  std::uint64_t batches_ = 0;
  double last_ = 0;
  std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace dovetail::bench
