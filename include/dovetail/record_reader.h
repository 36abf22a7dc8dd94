// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/identity.h>
#include <dovetail/lost_range.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// One data block, as described by the index.
struct DOVETAIL_EXPORT BlockInfo {
  /// Offset of the block header in the file; in a TFRecord, of the first record's frame.
  std::uint64_t offset = 0;
  std::uint64_t first_record = 0;
  std::uint32_t records = 0;
  /// Table and records as stored, without header and padding; in a TFRecord, with frames.
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;  ///< Records before compression.
  Codec codec = Codec::none;
  bool has_table = false;  ///< Whether the records differ in size.
};

/// Everything a shard says about itself: header, metadata, index, footer. For a TFRecord file, what
/// its index says. Its blocks are the records that are read together; they have no headers and are
/// not compressed.
struct DOVETAIL_EXPORT ShardDescription {
  bool tfrecord = false;  ///< Whether it is a TFRecord file with an index beside it.
  std::uint16_t version_major = 0;
  std::uint16_t version_minor = 0;
  DatasetId dataset_id;
  std::uint32_t shard_number = 0;
  std::string record_type;
  std::string writer;  ///< Program and version that wrote the file.
  std::map<std::string, std::string> metadata;
  /// As text, for `parse_schema`; empty if there is none. Not parsed here: records can be read
  /// without it.
  std::string schema;
  ShardInfo info;
  std::vector<BlockInfo> blocks;
};

/// Reads the ends of a finished shard, or the index of a TFRecord file, but no records.
DOVETAIL_EXPORT Result<ShardDescription> describe_shard(const std::string& path);

/// Reads the records of one shard in order. Checks each block before it returns any of its records.
///
/// Ownership: a returned view is valid until the next call. After a move, `next` and `seek` give
///            `closed`, and nothing else may be called.
/// Threads:   none; one thread at a time.
/// Errors:    damage names file, offset and the lost records; the reader may then `skip_damage()`
///            and continue behind it.
/// Cost:      memory for one block; one read per block.
class DOVETAIL_EXPORT RecordReader {
 public:
  /// Opens a finished shard, or a TFRecord file with an index.
  /// Errors: `unfinished`, `not_dovetail`, `not_indexed`, `unsupported_version`, anything damaged,
  ///         the system's.
  static Result<RecordReader> open(const std::string& path);
  /// Opens a shard of a dataset. Needs: `shard < dataset.shards().size()`.
  /// Errors: also `manifest_mismatch`, `outside_dataset`, and `file_changed` if the dataset has no
  ///         manifest and the shard is not the one that it was opened with.
  static Result<RecordReader> open(const Dataset& dataset, std::uint32_t shard);

  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  const ShardDescription& shard() const noexcept;
  /// Number of the record that `next()` returns.
  std::uint64_t position() const noexcept;
  /// Returns the next record, or nothing at the end of the shard. After an error it returns the
  /// same error again.
  Result<std::optional<ByteView>> next();
  /// Moves to any record, up to `shard().info.records`. Reads only the block that holds it.
  Result<void> seek(std::uint64_t record);
  /// After damage: returns the lost records, without a reason; `next()` continues behind them.
  LostRange skip_damage();

 private:
  class DOVETAIL_HIDDEN Impl;
  explicit RecordReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Result of `verify`.
struct DOVETAIL_EXPORT VerifyReport {
  std::uint64_t records = 0;  ///< Good ones.
  std::uint64_t blocks = 0;   ///< Good ones.
  /// In the order of the shards; the first 65,536.
  std::vector<LostRange> damaged;
  std::uint64_t damaged_places = 0;  ///< Number of all damaged places.
  /// What could not be checked: shards that have vanished, files that the system does not return,
  /// manifests among shards.
  std::vector<Error> unreadable;
  bool ok() const noexcept { return damaged.empty() && unreadable.empty(); }
  /// Adds another report, whose shards come after these.
  VerifyReport& operator+=(VerifyReport other);
};

/// Reads and checks everything: headers, padding, checksums, lengths, index, footer and
/// fingerprints. Also checks the manifest against its shards, and the numbers of the shards in a
/// folder without one.
///
/// All findings are in the report, even if some files cannot be read. `cancelled` is called before
/// each shard, from any of the threads; returning true cancels.
///
/// Errors: only if nothing could be checked, if memory ran out, or `operation_canceled`.
DOVETAIL_EXPORT Result<VerifyReport> verify(const std::string& path, unsigned threads = 0,
                                            const std::function<bool()>& cancelled = {});

}  // namespace dovetail
