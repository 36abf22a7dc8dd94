// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/identity.h>
#include <dovetail/schema.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// How a shard is written. The same options and records give the same bytes.
struct DOVETAIL_EXPORT WriterOptions {
  // These change the bytes of the file.

  /// Compression, tried per block. A block is stored uncompressed if compression saves too little
  /// to pay for decoding.
  Codec codec = Codec::snappy;
  /// Level of zstd, 1 (fastest) to 19 (smallest); default 3. The other codecs have none.
  std::uint32_t codec_level = 3;
  /// Target size of a block's records in bytes, 1 KiB to 64 MiB. Default 64 KiB. Leave alone for
  /// Snappy: it gains nothing above 64 KiB. zstd gains up to some MiB, which open runs then hold.
  std::uint32_t block_bytes = 64 * 1024;
  /// Target size of a run in bytes, up to 1 GiB. Default 64 KiB. Most runs are within it. A reader
  /// holds its open runs in memory as a whole; see docs/mixing.md.
  std::uint64_t run_bytes = 64 * 1024;
  /// Records per run. 0 (default) chooses from the first records by `run_bytes`. A plan takes runs
  /// of up to 2^31 records.
  std::uint64_t run_records = 0;
  /// Random by default. Set it for reproducible output.
  std::optional<DatasetId> dataset_id = {};
  /// Position of the shard in its dataset; part of the file id.
  std::uint32_t shard_number = 0;
  /// Free text that describes a record, such as "tf.train.Example".
  std::string record_type = {};
  /// Columns that the features of a record become, kept in the metadata block. `check_schema` below
  /// checks the first record against it.
  std::optional<Schema> schema = {};
  /// The user's key-value pairs, kept in the metadata block; at most 16 MiB in total.
  std::map<std::string, std::string> metadata = {};

  // These change only which input is refused and how bytes reach the disk.

  /// Longest accepted record in bytes. Default and limit of the format: 4 GiB - 1.
  std::uint32_t max_record_bytes = 0xFFFFFFFFu;
  /// Whether the first record of a `RecordWriter` or `DatasetWriter` must fit `schema`, as a reader
  /// of all its columns needs it. Later records are not checked.
  bool check_schema = true;
  /// Replaces an existing file. Otherwise an existing file is an error.
  bool overwrite = false;
};

/// Writes one shard: records in, one finished file out.
///
/// Bytes go to a partial file beside the target. `finish()` completes it, makes it durable and
/// renames it. Until then no file of the final name exists. Destroying or abandoning an unfinished
/// writer removes the partial file. A crash leaves it, recognisable as unfinished.
///
/// In a child forked while the writer is open, every call fails with `closed`, and destroying the
/// writer does nothing. The file belongs to the parent.
///
/// Ownership: `append` copies the record.
/// Threads:   none; one thread at a time.
/// Errors:    the first failure is final: it removes the partial file, and every later call returns
///            it again. A record refused for its size or its features is not a failure of the writer;
///            the next one may be appended.
/// Cost:      memory for one block, or for less than 16 MiB or `run_bytes` while the run length is
///            chosen.
class DOVETAIL_EXPORT RecordWriter {
 public:
  /// Creates the partial file. Errors: `already_exists`, `invalid_option`, the system's.
  static Result<RecordWriter> create(const std::string& path, WriterOptions options = {});

  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;
  ~RecordWriter();

  /// Adds one record, which may be empty. Errors: `record_too_large`, `closed`, a failed write;
  /// `invalid_option` for a first record that does not fit `WriterOptions::schema`.
  Result<void> append(ByteView record);
  /// Adds the bytes of a text, which need not be UTF-8.
  Result<void> append(Text auto&& record) { return append(as_bytes(record)); }

  /// Completes the file: index, footer, trailer, fdatasync, rename, fsync of the folder.
  Result<ShardInfo> finish();

  /// Removes everything that was written. Does nothing after `finish()`.
  void abandon() noexcept;

  /// Records appended so far.
  std::uint64_t records() const noexcept;

 private:
  class DOVETAIL_HIDDEN Impl;
  explicit RecordWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
