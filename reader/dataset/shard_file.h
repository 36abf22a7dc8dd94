// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/shard_info.h>

#include "format/messages.h"
#include "format/structures.h"
#include "reader/dataset/shard_ends.h"
#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// How the blocks of a file are marked off.
enum class Framing : std::uint8_t {
  blocks,    ///< A Dovetail shard: each block has a header.
  tfrecord,  ///< A TFRecord file: the index beside it says which records count as a block.
};

/// A finished shard, or a TFRecord file with an index, opened for reading: every block can be fetched and checked from
/// here. Of a TFRecord `header()` and `tail()` hold what its index knows, and `info().file_id` comes from its content.
///
/// Ownership: owns the descriptor and the index; move-only.
/// Threads:   const calls may run concurrently.
/// Cost:      40 bytes per block, bounded by the size of the file.
class ShardFile {
 public:
  /// Reads header, footer and index, and checks them against each other and, where given, against the line of the
  /// manifest. What does not begin as a shard is a TFRecord where an index lies beside it.
  /// Errors: `manifest_mismatch`, `index_mismatch` and those of `read_shard_ends` and `read_sidecar`.
  static Result<ShardFile> open(const std::string& path, const ShardInfo* expected = nullptr);

  Framing framing() const noexcept { return framing_; }
  const InputFile& file() const noexcept { return ends_.file; }
  const format::FileHeader& header() const noexcept { return ends_.header; }
  const format::ShardTail& tail() const noexcept { return ends_.tail; }
  const ShardInfo& info() const noexcept { return ends_.info(); }

  std::span<const format::IndexEntry> blocks() const noexcept { return blocks_; }
  /// Records before a block. Needs: `block <= blocks().size()`.
  std::uint64_t first_record(std::size_t block) const noexcept { return first_records_[block]; }
  /// The block that holds a record. Needs: `record < info().records`.
  std::size_t block_of(std::uint64_t record) const noexcept;
  /// The sequence number that a data block's header must have.
  std::uint32_t sequence(std::size_t block) const noexcept {
    return tail().first_sequence + static_cast<std::uint32_t>(block);
  }

  /// Where the metadata block, and blocks that this version does not know, end. Needs: not a TFRecord.
  std::uint64_t data_offset() const noexcept {
    return blocks_.empty() ? tail().footer.index_offset : blocks_.front().offset;
  }
  /// Reads and checks the metadata block: two more reads. Of a TFRecord it is that of the index, already there.
  Result<format::Metadata> read_metadata() const;

 private:
  explicit ShardFile(ShardEnds ends) : ends_(std::move(ends)) {}
  static Result<ShardFile> open_shard(const std::string& path, const ShardInfo* expected);
  static Result<ShardFile> open_tfrecord(const std::string& path, const ShardInfo* expected);
  Result<void> load_index();
  void count_records();

  Framing framing_ = Framing::blocks;
  ShardEnds ends_;
  format::Metadata metadata_;  // of a TFRecord's index
  std::vector<format::IndexEntry> blocks_;
  std::vector<std::uint64_t> first_records_;
};

/// Opens a shard of a dataset for reading, checked against what the dataset knows of it.
/// Errors: `outside_dataset`; `manifest_mismatch`, or `file_changed` where there is no manifest; those of `ShardFile`.
Result<ShardFile> open_shard(const Dataset& dataset, std::uint32_t shard);

}  // namespace dovetail::detail
