// SPDX-License-Identifier: Apache-2.0
// What one thread of this machine can do with the blocks of a dataset: the limit that a reader is compared with.
#pragma once

#include <cstdint>

#include "tools/bench/block_sample.h"

namespace dovetail::tools {

/// What the parts of delivery take, each on its own, for the same records.
struct Limits {
  double read_seconds = 0;    ///< Out of the page cache.
  double check_seconds = 0;   ///< CRC32C.
  double decode_seconds = 0;  ///< Snappy and the table of lengths.
  double copy_seconds = 0;    ///< From blocks into rows. Large records are read straight into their rows instead.
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t compressed_bytes = 0;  ///< Raw bytes that were decoded.
  std::uint64_t copied_bytes = 0;

  /// Bytes a second, 0 where there was nothing to measure.
  double read_rate() const noexcept { return rate(stored_bytes, read_seconds); }
  double check_rate() const noexcept { return rate(stored_bytes, check_seconds); }
  double decode_rate() const noexcept { return rate(compressed_bytes, decode_seconds); }
  double copy_rate() const noexcept { return rate(copied_bytes, copy_seconds); }
  /// Bytes of records a second that one thread delivers if it does nothing else but these, one after the other.
  double together() const noexcept {
    return rate(raw_bytes, read_seconds + check_seconds + decode_seconds + copy_seconds);
  }
  /// The same if nothing were compressed.
  double together_uncompressed() const noexcept;

 private:
  static double rate(std::uint64_t bytes, double seconds) noexcept {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }
};

/// Measures for about so long, after one round that brings the blocks into the page cache.
/// Errors: the system's; what is wrong with a damaged block, with its file and offset.
Result<Limits> measure_limits(const BlockSample& sample, std::uint32_t batch, double seconds);

}  // namespace dovetail::tools
