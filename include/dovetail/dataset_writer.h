// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/record_writer.h>

namespace dovetail {

/// Shards of a dataset at most: the names of more would not sort in their own order.
inline constexpr std::uint32_t kMaxShards = 1'000'000;

/// How a dataset is cut into shards and written.
struct DatasetWriterOptions {
  // These change the bytes.

  /// Options of every shard. `shard_number` is set by the dataset writer; `run_records` 0 is chosen once, from the
  /// first records of the dataset, and used for all shards.
  WriterOptions shard = {};
  /// A shard is closed by the first record that brings its raw bytes to this; 0 closes shards only where
  /// `expected_records` or `next_shard()` says so.
  std::uint64_t shard_bytes = 256ull * 1024 * 1024;
  /// Number of shards, up to `kMaxShards`, with `expected_records`; 0 means that `shard_bytes` decides. Exactly this many are written, in
  /// the order of the records; some may be empty.
  std::uint32_t shards = 0;
  /// Records that will come, needed with `shards`: shard k gets records [k*E/N, (k+1)*E/N); any beyond go to the last.
  std::uint64_t expected_records = 0;

  // These change speed only.

  /// Threads that check and compress blocks; 0 takes the cores of the machine. The bytes are the same for any number.
  unsigned encode_threads = 0;
};

/// What `DatasetWriter::finish` made.
struct DatasetInfo {
  std::string manifest;  ///< Path of the manifest.
  DatasetId id;
  std::vector<ShardInfo> shards;
};

/// Writes a folder of shards and its manifest from one stream of records, which keep their order.
///
/// The manifest, `manifest.dvt`, is written last: a folder with a manifest is whole. Shards are named
/// `shard-NNNNNN.dvt`. Destroying or abandoning an unfinished writer removes every file that it made.
///
/// Ownership: `append` copies the record.
/// Threads:   one thread at a time calls it; it runs `encode_threads` of its own.
/// Errors:    as `RecordWriter`: the first failure is final. In a child that was forked while it was open it is `closed`, and
///            destroying it does nothing: files and threads are the parent's.
/// Cost:      memory for a bounded number of blocks per thread, whatever the size of the dataset.
class DatasetWriter {
 public:
  /// Creates `folder` where it is missing. Errors: `already_exists` where it holds a manifest or shards and
  /// `shard.overwrite` is not set, `invalid_option`, or the system's.
  static Result<DatasetWriter> create(const std::string& folder, DatasetWriterOptions options = {});

  DatasetWriter(DatasetWriter&&) noexcept;
  DatasetWriter& operator=(DatasetWriter&&) noexcept;
  ~DatasetWriter();

  /// Adds one record, which may be empty.
  Result<void> append(ByteView record);
  /// The bytes of a text, which need not be UTF-8.
  Result<void> append(Text auto&& record) { return append(as_bytes(record)); }

  /// Ends the shard being written; the next record starts another. Two calls in a row make an empty shard.
  Result<void> next_shard();

  /// Completes the last shard and writes the manifest.
  Result<DatasetInfo> finish();

  /// Removes what was written. Nothing happens after `finish()`.
  void abandon() noexcept;

  /// Records and raw bytes appended so far.
  std::uint64_t records() const noexcept;
  std::uint64_t raw_bytes() const noexcept;

 private:
  class Impl;
  explicit DatasetWriter(std::unique_ptr<Impl> impl);
  void let_go() noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
