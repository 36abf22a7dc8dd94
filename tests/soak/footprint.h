// SPDX-License-Identifier: Apache-2.0
// What this process takes of the system, and whether that grows.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dovetail::test {

/// What a process takes at one moment. 0 where the system or a sanitizer does not tell.
struct Footprint {
  std::int64_t resident = 0;     ///< Bytes in memory; not where what is freed stays there: sanitizers, emulators.
  std::int64_t heap = 0;         ///< Bytes that were allocated and not freed.
  std::int64_t pinned = 0;       ///< Bytes that are locked or registered (VmLck and VmPin).
  std::int64_t mappings = 0;     ///< Lines of /proc/self/maps.
  std::int64_t descriptors = 0;  ///< Open ones.
  std::int64_t threads = 0;  ///< Without those that the kernel starts for io_uring (`iou-wrk-N`) and ends when idle.

  static Footprint now();
  /// The same, once what the kernel still has pinned of rings that were closed is gone: no more
  /// than `pinned` bytes, or `limit` has passed.
  static Footprint settled(std::int64_t pinned, std::chrono::milliseconds limit);
};

/// A quantity of it, and what more of it is no growth yet.
struct Measure {
  const char* name;
  std::int64_t Footprint::*of;
  std::int64_t tolerance;
};

/// Readers that live on keep the largest of what they needed so far, which settles in some hundred
/// rounds; and what is freed stays resident in the holes between what is not.
inline constexpr std::array<Measure, 6> kMeasures{{{"resident memory", &Footprint::resident, 16 << 20},
                                                   {"heap", &Footprint::heap, 1 << 20},
                                                   {"pinned memory", &Footprint::pinned, 0},
                                                   {"mappings", &Footprint::mappings, 2},
                                                   {"descriptors", &Footprint::descriptors, 0},
                                                   {"threads", &Footprint::threads, 0}}};

/// Too few to tell growth from noise: of two quarters with eight samples each, all of one lie above
/// all of the other by chance once in 12870 times.
inline constexpr std::size_t kFewestSamples = 32;

/// How a quantity moved, over samples that were taken after equal work.
///
/// The first quarter is warm-up. The quantity has grown if the least of the last quarter exceeds
/// the most of the second by more than the tolerance: whatever comes and goes is in both quarters,
/// and what stays is not in the second.
struct Growth {
  std::int64_t second_quarter_most = 0;
  std::int64_t last_quarter_least = 0;
  std::int64_t last_quarter_most = 0;
  /// What would not have been found, in all samples from the middle of the second quarter to that
  /// of the last: the spread of both and the tolerance.
  std::int64_t hidden_at_most = 0;
  bool grown = false;
};

/// Needs: `kFewestSamples` samples.
Growth growth_of(const Measure& measure, std::span<const Footprint> samples);

/// A table of all quantities; the second value is whether any has grown.
struct GrowthReport {
  std::string text;
  bool grown = false;
};
GrowthReport report_growth(std::span<const Footprint> samples);

}  // namespace dovetail::test
