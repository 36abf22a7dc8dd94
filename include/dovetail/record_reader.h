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
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// One data block, as the index tells it.
struct BlockInfo {
  std::uint64_t offset = 0;  ///< Of the block header, in the file; of the first record's frame in a TFRecord.
  std::uint64_t first_record = 0;
  std::uint32_t records = 0;
  std::uint32_t stored_bytes =
      0;                        ///< Table and records as stored, without header and padding; with frames in a TFRecord.
  std::uint32_t raw_bytes = 0;  ///< Records before compression.
  Codec codec = Codec::none;
  bool has_table = false;  ///< Whether the records differ in size.
};

/// Everything a shard says about itself: header, metadata, index, footer. Of a TFRecord file, what its index says; its
/// blocks are the records that are read together, and neither have headers nor are compressed.
struct ShardDescription {
  bool tfrecord = false;  ///< A TFRecord file with an index beside it.
  std::uint16_t version_major = 0;
  std::uint16_t version_minor = 0;
  DatasetId dataset_id;
  std::uint32_t shard_number = 0;
  std::string record_type;
  std::string writer;  ///< Program and version that wrote the file.
  std::map<std::string, std::string> metadata;
  /// As text, for `parse_schema`; empty where there is none. Not parsed here: records can be read without it.
  std::string schema;
  ShardInfo info;
  std::vector<BlockInfo> blocks;
};

/// Reads the ends of a finished shard, or the index of a TFRecord file, and no records.
Result<ShardDescription> describe_shard(const std::string& path);

/// Records of one shard in order, each block checked before any of its records is given out.
///
/// Ownership: a returned view is valid until the next call. Moved from, `next` and `seek` give `closed`, and nothing else may
///            be called.
/// Threads:   none; one thread at a time.
/// Errors:    damage names file, offset and the records it takes; the reader may then `skip_damage()` and go on behind it.
/// Cost:      memory for one block; one read per block.
class RecordReader {
 public:
  /// Opens a finished shard, or a TFRecord file with an index. Errors: `unfinished`, `not_dovetail`, `not_indexed`,
  /// `unsupported_version`, anything damaged, the system's.
  static Result<RecordReader> open(const std::string& path);
  /// Opens a shard of a dataset. Needs: `shard < dataset.shards().size()`.
  /// Errors: also `manifest_mismatch`, `outside_dataset`, and `file_changed` where the dataset has no manifest and the
  ///         shard is not the one that it was opened with.
  static Result<RecordReader> open(const Dataset& dataset, std::uint32_t shard);

  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  const ShardDescription& shard() const noexcept;
  /// The number of the record that `next()` gives.
  std::uint64_t position() const noexcept;
  /// The next record, or nothing at the end of the shard. After an error it gives the same error again.
  Result<std::optional<ByteView>> next();
  /// Goes to any record, up to `shard().info.records`. Reads only the block that holds it.
  Result<void> seek(std::uint64_t record);
  /// After damage: the records lost, half-open; `next()` continues behind them.
  struct Lost {
    std::uint64_t offset = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  Lost skip_damage();

 private:
  class Impl;
  explicit RecordReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One damaged place.
struct Damage {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t first_record = 0;  ///< In the shard.
  std::uint64_t end_record = 0;    ///< One past the last; equal to `first_record` where no record is lost.
  std::string reason;
};

/// What `verify` found.
struct VerifyReport {
  std::uint64_t records = 0;  ///< Good ones.
  std::uint64_t blocks = 0;   ///< Good ones.
  /// In the order of the shards; the first 65,536.
  std::vector<Damage> damaged;
  std::uint64_t damaged_places = 0;  ///< All there are.
  /// What could not be judged: shards that have vanished, files that the system does not give, manifests among shards.
  std::vector<Error> unreadable;
  bool ok() const noexcept { return damaged.empty() && unreadable.empty(); }
};

/// Reads everything and checks it: headers, padding, checksums, lengths, index, footer, fingerprints, and the manifest
/// against its shards, and the numbers of the shards in a folder without one. All of it is in the report, whatever cannot
/// be read on the way; an `Error` means that nothing could be judged, that memory ran out, or `operation_canceled` that
/// `cancelled` gave true: it is asked before each shard, from any of the threads.
Result<VerifyReport> verify(const std::string& path, unsigned threads = 0, const std::function<bool()>& cancelled = {});

}  // namespace dovetail
