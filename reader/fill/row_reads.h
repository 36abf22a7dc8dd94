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
#include "reader/fetch/buffer_pool.h"
#include "reader/fill/fill_rules.h"
#include "reader/storage/input_file.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// A block that is read for one row, because its record is in no run in memory: a placed record, or
/// with `OrderKind::global` any record.
struct RowRead {
  std::shared_ptr<const ShardFile> file;
  std::uint32_t shard = 0;
  std::size_t block = 0;
  std::uint32_t row = 0;        ///< Row of the batch.
  std::uint64_t at = 0;         ///< Offset of a placed record in the values.
  std::span<std::byte> record;  ///< Memory of a placed record; else empty.
  AlignedBuffer stored;         ///< Memory of a block that is not placed.
  /// The memory that is read to. For a placed record that is not encoded, without its head.
  std::span<std::byte> into;
  Result<void> read;  ///< Result of the read.
  std::optional<Error> damage;
  std::uint32_t retried = 0;
  std::array<std::byte, kMaxHeadBytes> head;  ///< The bytes before the record in the block.

  std::uint64_t offset() const noexcept { return file->blocks()[block].offset; }
  bool is_placed() const noexcept { return !record.empty(); }
  bool is_encoded() const noexcept { return detail::is_encoded(*file, block); }
  ReadInto destination() noexcept {
    if (!is_placed() || is_encoded()) return ReadInto{into};
    return {std::span(head).first(head_bytes(*file)), into};
  }
};

/// Checks a placed record as `check_twice`, and decodes it into its row if it is encoded.
/// Threads: any.
void check_record(RowRead& read, Storage& storage);

/// Checks and decodes a block that was read, as `check_twice`, and finds one of its records. The
/// result lies in `stored` or in `decoded`.
Result<ByteView> record_of_block(const ShardFile& file, std::size_t block, std::uint64_t record,
                                 const Result<void>& read, std::span<std::byte> stored, AlignedBuffer& decoded,
                                 Storage& storage, FillCounts& counts);

}  // namespace dovetail::detail
