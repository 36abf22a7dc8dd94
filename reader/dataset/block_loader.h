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

/// Memory that grows to the largest request and is handed out again, never cleared.
class ReusableBuffer {
 public:
  /// Errors: `not_enough_memory`. What was handed out before is void.
  Result<std::span<std::byte>> take(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

/// Reads, checks and decodes one data block at a time.
///
/// Ownership: what `load` returns and `padding()` are valid until the next `load`.
/// Threads:   none; one thread at a time.
/// Cost:      memory for the largest block so far, one read per block.
class BlockLoader {
 public:
  /// The records of a block. A block that fails its check is read once more, past the page cache where the system
  /// allows. Errors: what is wrong with the block, with its offset and the records that it takes along; `file_changed`
  /// where the
  ///         file is not the one that was opened; the system's.
  Result<format::BlockRecords> load(const ShardFile& shard, std::size_t block);

  /// The bytes between the block that was loaded and the next structure.
  ByteView padding() const noexcept { return padding_; }

 private:
  Result<format::BlockRecords> load_once(const ShardFile& shard, std::size_t block);

  ReusableBuffer stored_;
  ReusableBuffer decoded_;
  ByteView padding_;
};

}  // namespace dovetail::detail
