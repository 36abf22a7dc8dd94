// SPDX-License-Identifier: Apache-2.0
// A data block as it lies in a file: how many bytes it takes there, and how they become records. The only place where
// reading tells shards and indexed TFRecords apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "format/layout.h"
#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

/// What lies before the only record of a block at most.
inline constexpr std::size_t kMaxHeadBytes = format::kBlockHeaderBytes;

/// Bytes from a block's offset to the end of its body, padding not counted.
std::uint64_t stored_bytes(const ShardFile& shard, std::size_t block) noexcept;

/// Memory that decoding needs beside the stored bytes; 0 where the records are found in these as they are.
std::uint64_t decoded_bytes(const ShardFile& shard, std::size_t block) noexcept;

/// Whether the records of a block, though it is decoded, stay in the stored bytes.
inline bool keeps_stored(const ShardFile& shard) noexcept {
  return shard.framing() == Framing::tfrecord;
}

/// Checks a block and finds its records. `stored` is what the file holds at its place, `stored_bytes` of it; `out` is at
/// least `decoded_bytes` long, and gets what does not stay in `stored`. Up to `kDecodeSlack` bytes behind may be overwritten.
/// Errors: what is wrong with the block, without file or offset.
Result<format::BlockRecords> decode_stored(const ShardFile& shard, std::size_t block, ByteView stored,
                                           std::span<std::byte> out);

/// Whether a block consists of one record, which can be read straight to where it is wanted, or decoded there and takes no
/// more room before.
bool is_single(const ShardFile& shard, std::size_t block) noexcept;
/// Whether its body has to be decoded.
inline bool is_encoded(const ShardFile& shard, std::size_t block) noexcept {
  return shard.framing() == Framing::blocks && shard.blocks()[block].codec != Codec::none;
}
/// Bytes before the record of such a block.
std::size_t head_bytes(const ShardFile& shard) noexcept;
/// Checks such a block, which is not encoded: its first `head_bytes`, and its record. Errors: as `decode_stored`.
Result<void> check_single(const ShardFile& shard, std::size_t block, ByteView head, ByteView record);
/// Checks such a block, which is encoded, and decodes it; `record` has as many bytes as the record. Errors: as `decode_stored`.
Result<void> decode_single(const ShardFile& shard, std::size_t block, ByteView stored, std::span<std::byte> record);

}  // namespace dovetail::detail
