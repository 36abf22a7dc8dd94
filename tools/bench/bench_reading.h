// SPDX-License-Identifier: Apache-2.0
// Reads like a trainer that does nothing but read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset.h>

namespace dovetail::tools {

/// The batches that one pass delivered, and their cost.
struct ReadingPass {
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t direct_bytes = 0;  ///< Part of it: read straight into rows.
  std::uint64_t waiting_reads = 0;
  double time_planning = 0;  ///< Time of threads, in seconds.
  double time_reading = 0;
  double time_decoding = 0;
  double time_gathering = 0;
  double waiting_for_storage = 0;  ///< Time of the trainer, in seconds.
  StorageKind storage = StorageKind::pread;
  std::string storage_note;

  double bytes_per_second() const noexcept { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
  double batches_per_second() const noexcept { return seconds > 0 ? static_cast<double>(batches) / seconds : 0; }
  double rows_per_second() const noexcept { return seconds > 0 ? static_cast<double>(rows) / seconds : 0; }
  /// Share of the reads that waited.
  double waiting_share() const noexcept {
    // Reads that were in flight at the end already count as waiting.
    return reads > 0 ? std::min(1.0, static_cast<double>(waiting_reads) / static_cast<double>(reads)) : 0;
  }
  double work() const noexcept { return time_planning + time_reading + time_decoding + time_gathering; }
};

/// Reads for `seconds`, at most `steps` batches from the start of `options`, and adds the counts to
/// `pass`. Unless `once`, repeats these batches until the time is up. If `options.epochs` is 0,
/// continues from one epoch to the next.
Result<void> read_pass(const Dataset& dataset, const ReaderOptions& options, std::uint64_t steps, bool once,
                       double seconds, ReadingPass& pass);

}  // namespace dovetail::tools
