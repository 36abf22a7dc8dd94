// SPDX-License-Identifier: Apache-2.0
// The bare walk: the speed at which the threads of this machine process the blocks of a dataset
// without a reader. A reader is compared with it.
#pragma once

#include <cstdint>

#include "tools/bench/block_sample.h"

namespace dovetail::tools {

/// The time of each part of the walk, summed over its threads.
struct Limits {
  double read_seconds = 0;    ///< Reading from the page cache.
  double check_seconds = 0;   ///< CRC32C.
  double decode_seconds = 0;  ///< The codec and the table of lengths.
  double copy_seconds = 0;    ///< From blocks into rows. Large records are read straight into their rows instead.
  std::uint64_t raw_bytes = 0;
  unsigned threads = 1;

  double seconds() const noexcept { return read_seconds + check_seconds + decode_seconds + copy_seconds; }
  /// Bytes of records per second, over all threads; 0 if nothing was measured.
  double together() const noexcept { return seconds() > 0 ? static_cast<double>(raw_bytes) * threads / seconds() : 0; }
  void add(const Limits& other) noexcept;
};

/// The options of a walk.
struct WalkOptions {
  std::uint32_t batch = 64;
  std::uint32_t open_runs = 96;  ///< Runs in memory over all threads; their records are copied in turn.
  unsigned threads = 1;
};

/// Walks over the sample on each thread for about `seconds`, from another starting place on each.
/// Errors: those of the system; those of a damaged block, with file and offset.
Result<Limits> measure_limits(const BlockSample& sample, const WalkOptions& options, double seconds);

/// Brings the sample into the page cache. Errors: those of `measure_limits`.
Result<void> warm_up(const BlockSample& sample, const WalkOptions& options);

}  // namespace dovetail::tools
