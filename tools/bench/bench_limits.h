// SPDX-License-Identifier: Apache-2.0
// The bare walk: what the threads of this machine can do with the blocks of a dataset if nothing is between them and the
// bytes. A reader is compared with it.
#pragma once

#include <cstdint>

#include "tools/bench/block_sample.h"

namespace dovetail::tools {

/// What the parts of the walk took, summed over its threads.
struct Limits {
  double read_seconds = 0;    ///< Out of the page cache.
  double check_seconds = 0;   ///< CRC32C.
  double decode_seconds = 0;  ///< The codec and the table of lengths.
  double copy_seconds = 0;    ///< From blocks into rows. Large records are read straight into their rows instead.
  std::uint64_t raw_bytes = 0;
  unsigned threads = 1;

  double seconds() const noexcept { return read_seconds + check_seconds + decode_seconds + copy_seconds; }
  /// Bytes of records a second that all threads deliver together; 0 where nothing was measured.
  double together() const noexcept { return seconds() > 0 ? static_cast<double>(raw_bytes) * threads / seconds() : 0; }
  void add(const Limits& other) noexcept;
};

/// How to walk.
struct WalkOptions {
  std::uint32_t batch = 64;
  std::uint32_t open_runs = 96;  ///< Runs in memory at a time, of all threads; one record of each is copied in turn.
  unsigned threads = 1;
};

/// Each thread walks over the sample for about so long, from another place.
/// Errors: the system's; what is wrong with a damaged block, with its file and offset.
Result<Limits> measure_limits(const BlockSample& sample, const WalkOptions& options, double seconds);

/// Brings the sample into the page cache. Errors: the same.
Result<void> warm_up(const BlockSample& sample, const WalkOptions& options);

}  // namespace dovetail::tools
