// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/schema.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// How a shard is written. The same options and records give the same bytes.
struct WriterOptions {
  // These change the bytes of the file.

  /// Tried per block; a block is stored as it is where this saves too little to pay for its decoding.
  Codec codec = Codec::snappy;
  /// Target for the records of a block, in bytes, 1 KiB to 64 MiB. Snappy gains nothing above 64 KiB.
  std::uint32_t block_bytes = 64 * 1024;
  /// Target for a run, in bytes, up to 1 GiB: most runs are within. A reader holds the open runs whole; docs/mixing.md.
  std::uint64_t run_bytes = 64 * 1024;
  /// Records per run; 0 chooses from the first records by `run_bytes`. A plan takes runs of up to 2^31 records.
  std::uint64_t run_records = 0;
  /// Random where not given; give it to make the output reproducible.
  std::optional<DatasetId> dataset_id = {};
  /// Position of the shard in its dataset; part of the file id.
  std::uint32_t shard_number = 0;
  /// Free text that says what a record is, such as "tf.train.Example".
  std::string record_type = {};
  /// The columns that the features of a record become, kept in the metadata block; records are not checked against it.
  std::optional<Schema> schema = {};
  /// Key-value pairs of the user, kept in the metadata block; at most 16 MiB in all.
  std::map<std::string, std::string> metadata = {};

  // These change only what is refused and how it reaches the disk.

  /// Longer records are refused. At most 4 GiB - 1 (the limit of the format).
  std::uint32_t max_record_bytes = 0xFFFFFFFFu;
  /// Replaces an existing file; without it an existing file is an error.
  bool overwrite = false;
};

/// Writes one shard: records in, one finished file out.
///
/// Bytes go to a partial file beside the target. `finish()` completes it, makes it durable and renames it; until then
/// no file of the final name exists. Destroying or abandoning an unfinished writer removes the partial file; a crash
/// leaves it, recognisable as unfinished.
///
/// Ownership: `append` copies the record.
/// Threads:   none; one thread at a time.
/// Errors:    the first failure is final: it removes the partial file, and every later call returns it again. A record
///            that is refused for its size is not a failure of the writer; the next one may be appended. In a child that was
///            forked while it was open every call is `closed`, and destroying it does nothing: the file is the parent's.
/// Cost:      memory for one block, or for the first run while the run length is being chosen.
class RecordWriter {
 public:
  /// Creates the partial file. Errors: `already_exists`, `invalid_option`, or the system's.
  static Result<RecordWriter> create(const std::string& path, WriterOptions options = {});

  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;
  ~RecordWriter();

  /// Adds one record, which may be empty. Errors: `record_too_large`, `closed`, or a failed write.
  Result<void> append(ByteView record);
  /// The bytes of a text, which need not be UTF-8.
  Result<void> append(Text auto&& record) { return append(as_bytes(record)); }

  /// Completes the file: index, footer, trailer, fdatasync, rename, fsync of the folder.
  Result<ShardInfo> finish();

  /// Removes what was written. Nothing happens after `finish()`.
  void abandon() noexcept;

  /// Records appended so far.
  std::uint64_t records() const noexcept;

 private:
  class Impl;
  explicit RecordWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
