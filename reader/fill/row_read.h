// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "reader/dataset/shard_file.h"
#include "reader/dataset/stored_block.h"
#include "reader/storage/input_file.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// A placed record: its block is read, or decoded, straight into its row.
struct RowRead {
  std::shared_ptr<const ShardFile> file;
  std::uint32_t shard = 0;
  std::size_t block = 0;
  std::uint32_t row = 0;        ///< Row of the batch.
  std::uint64_t at = 0;         ///< Offset of the record in the values.
  std::span<std::byte> record;  ///< Memory of the record.
  /// The memory that is read to. For a record that is not encoded, without its head.
  std::span<std::byte> into;
  Result<void> read;  ///< Result of the read.
  std::optional<Error> damage;
  std::uint32_t retried = 0;
  std::array<std::byte, kMaxHeadBytes> head;  ///< The bytes before the record in the block.

  std::uint64_t offset() const noexcept { return file->blocks()[block].offset; }
  bool is_encoded() const noexcept { return detail::is_encoded(*file, block); }
  ReadInto destination() noexcept {
    if (is_encoded()) return ReadInto{into};
    return {std::span(head).first(head_bytes(*file)), into};
  }
};

}  // namespace dovetail::detail
