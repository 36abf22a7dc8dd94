// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// How a TFRecord file is indexed.
struct TfrecordIndexOptions {
  /// Records that are read and checked together, in bytes, 1 KiB to 64 MiB.
  std::uint32_t block_bytes = 64 * 1024;
  /// Target for a run, the unit of reading and of permutation, in bytes, up to 1 GiB.
  std::uint64_t run_bytes = 64 * 1024;
  /// Records per run; 0 chooses from the first records by `run_bytes`. A plan takes runs of up to 2^31 records.
  std::uint64_t run_records = 0;
  /// An index in the text form that DALI reads (`tfrecord2idx`), to be compared with the file: offset and size of each
  /// record with its frame, one per line, in order.
  std::optional<std::string> check_dali_index = {};
  /// Where to write such an index, which replaces what is there; but not the file itself or its own index.
  std::optional<std::string> write_dali_index = {};
  /// Called now and then with the records and bytes read so far; false cancels.
  std::function<bool(std::uint64_t records, std::uint64_t bytes)> progress = {};
};

/// What `index_tfrecord` found and wrote.
struct TfrecordIndexReport {
  std::string index;  ///< Path of the index.
  ShardInfo shard;    ///< What the file is as a shard.
  bool kept = false;  ///< The index was there already.
};

/// Makes a shard of an uncompressed TFRecord file: reads it, checks both CRCs of every record, and writes an index beside
/// it, under its name and ".dvi". The file itself is not touched. Plans, orders, resuming and reading then work with it as
/// with any shard. The same file and options give the same index.
///
/// An index that is there, fits the file and is not older is kept, with the options that it was made with, unless
/// `overwrite`; any other is replaced. The index holds the file's size, a checksum of its ends, and for each block one of its
/// records, so that a file that was changed later is an error and never read as something else.
///
/// Errors: `tfrecord_checksum`, `truncated`, `record_too_large` (4 GiB less the frame); `unknown_format` for a compressed
///         file or no TFRecord; `index_mismatch` where a DALI index disagrees, with its line; `invalid_option`;
///         `boost::system::errc::operation_canceled`; the system's. No index is then written; where only the one for DALI
///         cannot be, the other one is there, and good.
/// Cost:   one pass over the file; memory for one record and 12 bytes per block.
Result<TfrecordIndexReport> index_tfrecord(const std::string& path, const TfrecordIndexOptions& options = {},
                                           bool overwrite = false);

}  // namespace dovetail
