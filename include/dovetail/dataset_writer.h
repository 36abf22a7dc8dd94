// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/export.h>
#include <dovetail/record_writer.h>

namespace dovetail {

/// Most shards of a dataset. With more, the names would not sort in numerical order.
inline constexpr std::uint32_t kMaxShards = 1'000'000;

/// How a dataset is divided into shards and written.
struct DOVETAIL_EXPORT DatasetWriterOptions {
  // These change the bytes.

  /// Options of every shard. The dataset writer sets `shard_number`. `run_records` 0 is chosen
  /// once, from the first records of the dataset, and used for all shards.
  WriterOptions shard = {};
  /// Raw bytes per shard, default 256 MiB. The record that reaches this size closes the shard. With
  /// 0, only `expected_records` or `next_shard()` close shards.
  std::uint64_t shard_bytes = 256ull * 1024 * 1024;
  /// Number of shards, up to `kMaxShards`; needs `expected_records`. 0 (default) means that
  /// `shard_bytes` decides. Exactly this many are written, in the order of the records; some may be
  /// empty.
  std::uint32_t shards = 0;
  /// Expected number of records E; needed with `shards`. Shard k of N gets records [k*E/N,
  /// (k+1)*E/N). Records beyond E go to the last shard.
  std::uint64_t expected_records = 0;

  // These change speed only.

  /// Threads that check and compress blocks. 0 (default) uses the cores of the machine. Any number
  /// writes the same bytes.
  unsigned encode_threads = 0;
};

/// Result of `DatasetWriter::finish`.
struct DOVETAIL_EXPORT DatasetInfo {
  std::string manifest;  ///< Path of the manifest.
  DatasetId id;
  std::vector<ShardInfo> shards;
};

/// Writes a folder of shards and its manifest from one stream of records, in their order.
///
/// Shards are named `shard-NNNNNN.dvt`, the manifest `manifest.dvt`. They are written in a folder
/// beside the target, `TARGET.partial`, which `finish` renames to the target in one step. With
/// `shard.overwrite` it is exchanged with the old dataset, which is then removed. So a reader finds
/// the old dataset or the new one, whole. Some file systems cannot exchange folders, such as NFS:
/// there the old dataset is first renamed to `TARGET.replaced`. Destroying or abandoning an
/// unfinished writer removes every file that it made.
///
/// Nothing can be read before `finish`, and nothing added after it. A program that never ends writes
/// one dataset after the other; `Dataset::join` reads them as one.
///
/// In a child forked while the writer is open, calls fail with `closed`, and destroying the writer
/// does nothing. Files and threads belong to the parent.
///
/// Ownership: `append` copies the record.
/// Threads:   one thread at a time may call it; it runs `encode_threads` of its own.
/// Errors:    as `RecordWriter`: the first failure is final.
/// Cost:      memory for a bounded number of blocks per thread, independent of the size of the
///            dataset.
class DOVETAIL_EXPORT DatasetWriter {
 public:
  /// Creates `TARGET.partial`, and removes what a killed writer left there: save its records first
  /// with `recover`. The target itself is untouched until `finish`.
  /// Errors: `already_exists` if the target holds anything but a dataset, or a dataset and
  ///         `shard.overwrite` is not set, or if `TARGET.partial` holds an unfinished conversion;
  ///         `busy` while another process writes there; `invalid_option`, also for a target that
  ///         cannot be renamed (a mount point, the working directory, a folder in one without write
  ///         permission); the system's.
  static Result<DatasetWriter> create(const std::string& folder, DatasetWriterOptions options = {});

  DatasetWriter(DatasetWriter&&) noexcept;
  DatasetWriter& operator=(DatasetWriter&&) noexcept;
  ~DatasetWriter();

  /// Adds one record, which may be empty.
  Result<void> append(ByteView record);
  /// Adds the bytes of a text, which need not be UTF-8.
  Result<void> append(Text auto&& record) { return append(as_bytes(record)); }

  /// Closes the current shard; the next record starts another. Two calls in a row make an empty
  /// shard.
  Result<void> next_shard();

  /// Completes the last shard, writes the manifest and renames the folder to the target.
  /// Errors: where only removing what was replaced fails, the message says so; the new dataset is
  ///         in its place then.
  Result<DatasetInfo> finish();

  /// Removes everything that was written. Does nothing after `finish()`.
  void abandon() noexcept;

  /// Records and raw bytes appended so far.
  std::uint64_t records() const noexcept;
  std::uint64_t raw_bytes() const noexcept;

 private:
  class DOVETAIL_HIDDEN Impl;
  explicit DatasetWriter(std::unique_ptr<Impl> impl);
  void let_go() noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
