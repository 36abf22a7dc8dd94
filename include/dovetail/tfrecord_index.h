// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// How a TFRecord file is indexed.
struct DOVETAIL_EXPORT TfrecordIndexOptions {
  /// Bytes of records that are read and checked together, 1 KiB to 64 MiB. Default 64 KiB.
  std::uint32_t block_bytes = 64 * 1024;
  /// Target size of a run, the unit of reading and of permutation, in bytes, up to 1 GiB. Default
  /// 64 KiB.
  std::uint64_t run_bytes = 64 * 1024;
  /// Records per run. 0 (default) chooses from the first records by `run_bytes`. A plan takes runs
  /// of up to 2^31 records.
  std::uint64_t run_records = 0;
  /// Path of an index in DALI's text form (`tfrecord2idx`) to compare with the file. Each line has
  /// offset and size of one record with its frame, in order.
  std::optional<std::string> check_dali_index = {};
  /// Where to write such an index. Replaces an existing file, except the TFRecord file itself and
  /// its own index.
  std::optional<std::string> write_dali_index = {};
  /// Called from time to time with the records and bytes read so far. Returning false cancels.
  std::function<bool(std::uint64_t records, std::uint64_t bytes)> progress = {};
};

/// Result of `index_tfrecord`.
struct DOVETAIL_EXPORT TfrecordIndexReport {
  std::string index;  ///< Path of the index.
  ShardInfo shard;    ///< Description of the file as a shard.
  bool kept = false;  ///< Whether an existing index was kept.
};

/// Makes an uncompressed TFRecord file usable as a shard. Reads it, checks both CRCs of every
/// record, and writes an index beside it, under its name with the suffix ".dvi". The file itself is
/// not changed. Plans, orders, resuming and reading then work as with any shard. The same file and
/// options give the same index.
///
/// Unless `overwrite` is set, an existing index that fits the file and is not older is kept, with
/// the options that it was made with. Any other index is replaced. The index holds the size of the
/// file, a checksum of its ends, and one record of each block. So a file that changed later is an
/// error and is never read as something else.
///
/// After an error no index is written. If only the index for DALI cannot be written, the other one
/// is there and valid.
///
/// Errors: `tfrecord_checksum`; `truncated`; `record_too_large` (4 GiB less the frame);
///         `unknown_format` for a folder, a compressed file, or one that is not a TFRecord;
///         `index_mismatch` if a DALI index disagrees, with its line; `invalid_option`;
///         `boost::system::errc::operation_canceled`; the system's.
/// Cost:   one pass over the file; memory for one record and 12 bytes per block.
DOVETAIL_EXPORT Result<TfrecordIndexReport> index_tfrecord(const std::string& path,
                                                           const TfrecordIndexOptions& options = {},
                                                           bool overwrite = false);

/// A file for `index_tfrecords`.
struct DOVETAIL_EXPORT TfrecordToIndex {
  std::string path;
  TfrecordIndexOptions options = {};  ///< Without `progress`.
};

struct DOVETAIL_EXPORT TfrecordIndexJobs {
  bool overwrite = false;
  /// Threads; each indexes one file at a time. 0 (default) uses the cores of the machine.
  unsigned jobs = 0;
  /// As in `TfrecordIndexOptions`, for all files together. Not called concurrently.
  std::function<bool(std::uint64_t records, std::uint64_t bytes)> progress = {};
};

/// Indexes several files. The reports are in the order of the files.
///
/// Needs: all files differ.
/// Errors: those of `index_tfrecord`, of the first file with one. Finished indexes stay.
DOVETAIL_EXPORT Result<std::vector<TfrecordIndexReport>> index_tfrecords(const std::vector<TfrecordToIndex>& files,
                                                                         const TfrecordIndexJobs& jobs = {});

}  // namespace dovetail
