// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

/// Memory that grows to the largest request and is reused, without being cleared.
class ReusableBuffer {
 public:
  /// Errors: `not_enough_memory`. The span of the previous call becomes invalid.
  Result<std::span<std::byte>> take(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

/// Reads, checks and decodes one data block at a time.
///
/// Ownership: the result of `load`, and `padding()`, are valid until the next `load`.
/// Threads:   none; one thread at a time.
/// Cost:      memory for the largest block so far, and one read per block.
class BlockLoader {
 public:
  /// The records of a block. A block that fails its check is read once more, past the page cache if
  /// the system allows that.
  /// Errors: the damage of the block, with its offset and the records that are lost with it;
  ///         `file_changed` if the file was changed since it was opened; those of the system.
  Result<format::BlockRecords> load(const ShardFile& shard, std::size_t block);

  /// The bytes between the block that was loaded last and the next structure of the file.
  ByteView padding() const noexcept { return padding_; }

 private:
  Result<format::BlockRecords> load_once(const ShardFile& shard, std::size_t block);

  ReusableBuffer stored_;
  ReusableBuffer decoded_;
  ByteView padding_;
};

}  // namespace dovetail::detail
