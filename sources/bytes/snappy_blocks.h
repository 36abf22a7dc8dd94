// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "sources/bytes/decoder.h"

namespace dovetail::detail {

/// Decodes TensorFlow's SNAPPY: blocks, each a big-endian u32 with its stored length and a raw
/// Snappy stream. Block ends are unrelated to records. It is not the framing format of Snappy, and
/// has no checksum.
///
/// Errors: also `bad_length` for a block above a GiB, stored or decoded; TensorFlow writes blocks
///         of 256 KiB, or of one record.
/// Cost:   one block, stored and decoded; at most about 22 times the bytes read, even if a length
///         claims more.
class SnappyBlocks final : public Decoder {
 public:
  Result<void> run(ByteView& in, std::span<std::byte>& out) override;
  bool at_end() const noexcept override { return stored_.empty() && given_ == decoded_bytes_; }

 private:
  bool gather(ByteView& in, std::size_t bytes);
  Result<void> decode(ByteView block);

  std::vector<std::byte> stored_;  // length and bytes of a block so far
  std::vector<std::byte> decoded_;
  std::size_t decoded_bytes_ = 0;
  std::size_t given_ = 0;  // bytes of these that were returned
};

/// Decodes up to `out.size()` bytes from the beginning of such blocks, given the `head` of a file
/// of `file_bytes`, even if the first block is incomplete. Returns the number of bytes; 0 if the
/// head cannot be such blocks.
std::size_t snappy_blocks_head(ByteView head, std::uint64_t file_bytes, std::span<std::byte> out);

}  // namespace dovetail::detail
