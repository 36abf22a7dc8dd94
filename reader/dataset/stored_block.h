// SPDX-License-Identifier: Apache-2.0
// Data blocks in the form in which a file stores them: their size in the file, and the decoding of
// their records. Only this code distinguishes shards and indexed TFRecords when it reads blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "format/layout.h"
#include "reader/dataset/shard_file.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// The most bytes before the only record of a block.
inline constexpr std::size_t kMaxHeadBytes = format::kBlockHeaderBytes;

/// The bytes from a block's offset to the end of its body, without padding.
std::uint64_t stored_bytes(const ShardFile& shard, std::size_t block) noexcept;

/// The memory that decoding needs beside the stored bytes; 0 if the records are used where they
/// were read.
std::uint64_t decoded_bytes(const ShardFile& shard, std::size_t block) noexcept;

/// Whether the records of a block stay in the stored bytes, although the block is decoded.
inline bool keeps_stored(const ShardFile& shard) noexcept {
  return shard.framing() == Framing::tfrecord;
}

/// Checks a block and finds its records. `stored` is the content of the file at the block's offset,
/// `stored_bytes` of it. `out` has at least `decoded_bytes`, and receives what does not stay in
/// `stored`. Up to `kDecodeSlack` bytes behind `out` may be overwritten.
/// Errors: the damage of the block, without file or offset.
Result<format::BlockRecords> decode_stored(const ShardFile& shard, std::size_t block, ByteView stored,
                                           std::span<std::byte> out);

/// Whether a block consists of one record that can be read, or decoded, straight to its
/// destination. An encoded block counts only if its stored bytes are no more than those of the
/// record.
bool is_single(const ShardFile& shard, std::size_t block) noexcept;
/// Whether the body of a block must be decoded.
inline bool is_encoded(const ShardFile& shard, std::size_t block) noexcept {
  return shard.framing() == Framing::blocks && shard.blocks()[block].codec != Codec::none;
}
/// The number of bytes before the record of such a block.
std::size_t head_bytes(const ShardFile& shard) noexcept;
/// Checks such a block that is not encoded: its first `head_bytes` and its record. Errors: as
/// `decode_stored`.
Result<void> check_single(const ShardFile& shard, std::size_t block, ByteView head, ByteView record);
/// Checks such a block that is encoded, and decodes it to `record`, which has the size of the
/// record. Errors: as `decode_stored`.
Result<void> decode_single(const ShardFile& shard, std::size_t block, ByteView stored, std::span<std::byte> record);

/// Calls `check` for a block that was read to `into`, with the result `read`. A block that fails,
/// or could not be read, is read once more by itself, past the page cache, and counted in
/// `retried`. Bits also flip in memory and in transfers, so only a block that fails twice counts as
/// damaged. A read that the storage has abandoned is not repeated.
/// Errors: those of the last read or check, with file and offset.
template <class Check, class Count>
auto check_twice(const ShardFile& shard, std::size_t block, const Result<void>& read, ReadInto into, Storage& storage,
                 Count& retried, const Check& check) -> decltype(check()) {
  using Checked = decltype(check());
  const std::uint64_t offset = shard.blocks()[block].offset;
  Checked checked = read.has_value() ? check() : Checked(read.error());
  if (!checked.has_value() && !storage.gave_up(checked.error())) {
    ++retried;
    const Result<void> again = storage.read_again(shard.file(), offset, into);
    checked = again.has_value() ? check() : Checked(again.error());
  }
  if (!checked.has_value()) return checked.error().at(shard.file().path(), offset);
  return checked;
}

}  // namespace dovetail::detail
