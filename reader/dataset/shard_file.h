// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/record_reader.h>
#include <dovetail/shard_info.h>

#include "format/messages.h"
#include "format/structures.h"
#include "reader/dataset/shard_ends.h"
#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// How the blocks of a file are delimited.
enum class Framing : std::uint8_t {
  blocks,    ///< A Dovetail shard: each block has a header.
  tfrecord,  ///< A TFRecord file: the index beside it defines the blocks.
};

/// A finished shard, or a TFRecord file with an index, opened for reading. Every block can be read
/// and checked through it. For a TFRecord, `header()` and `tail()` hold facts from the index, and
/// `info().file_id` comes from the content.
///
/// Ownership: owns the descriptor and the index; move-only.
/// Threads:   const calls may run concurrently.
/// Cost:      40 bytes per block, bounded by the size of the file.
class ShardFile {
 public:
  /// Reads header, footer and index, and checks them against each other and, if given, against the
  /// entry of the manifest. A file that does not begin as a shard is opened as a TFRecord if an
  /// index lies beside it.
  /// Errors: `manifest_mismatch`, `index_mismatch`; those of `read_shard_ends` and `read_sidecar`.
  static Result<ShardFile> open(const std::string& path, const ShardInfo* expected = nullptr);

  Framing framing() const noexcept { return framing_; }
  const InputFile& file() const noexcept { return ends_.file; }
  const format::FileHeader& header() const noexcept { return ends_.header; }
  const format::ShardTail& tail() const noexcept { return ends_.tail; }
  const ShardInfo& info() const noexcept { return ends_.info(); }

  std::span<const format::IndexEntry> blocks() const noexcept { return blocks_; }
  /// The number of records before a block. Needs: `block <= blocks().size()`.
  std::uint64_t first_record(std::size_t block) const noexcept { return first_records_[block]; }
  /// The block that holds a record. Needs: `record < info().records`.
  std::size_t block_of(std::uint64_t record) const noexcept;
  /// The sequence number that the header of a data block must have.
  std::uint32_t sequence(std::size_t block) const noexcept {
    return tail().first_sequence + static_cast<std::uint32_t>(block);
  }

  /// The offset of the first data block: the end of the metadata block, and of blocks that this
  /// version does not know. Needs: not a TFRecord.
  std::uint64_t data_offset() const noexcept {
    return blocks_.empty() ? tail().footer.index_offset : blocks_.front().offset;
  }
  /// Reads and checks the metadata block, with two more reads. For a TFRecord returns the metadata
  /// of the index without a read.
  Result<format::Metadata> read_metadata() const;

 private:
  explicit ShardFile(ShardEnds ends) : ends_(std::move(ends)) {}
  static Result<ShardFile> open_shard(const std::string& path, const ShardInfo* expected);
  static Result<ShardFile> open_tfrecord(const std::string& path, const ShardInfo* expected);
  Result<void> load_index();
  void count_records();

  Framing framing_ = Framing::blocks;
  ShardEnds ends_;
  format::Metadata metadata_;  // of the index of a TFRecord
  std::vector<format::IndexEntry> blocks_;
  std::vector<std::uint64_t> first_records_;
};

/// Opens a shard of a dataset for reading, and checks it against the dataset's facts about it.
/// Errors: `outside_dataset`; `manifest_mismatch`, or `file_changed` if there is no manifest; those
///         of `ShardFile`.
Result<ShardFile> open_shard(const Dataset& dataset, std::uint32_t shard);

/// The description of an open shard. Reads its metadata, which takes one more read.
Result<ShardDescription> describe(const ShardFile& shard);

}  // namespace dovetail::detail
