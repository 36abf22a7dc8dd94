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

/// Decodes what TensorFlow calls SNAPPY: blocks, each a big-endian u32 with its stored length and then a raw Snappy
/// stream. Where a block ends says nothing about records. It is not the framing format of Snappy, and has no checksum.
///
/// Errors: also `bad_length` for a block above a GiB, stored or decoded; TensorFlow's own are of 256 KiB, or of one
///         record.
/// Cost:   one block, stored and decoded; never much more than 22 times the bytes that were given, whatever a length
///         claims.
class SnappyBlocks final : public Decoder {
 public:
  Result<void> run(ByteView& in, std::span<std::byte>& out) override;
  bool at_end() const noexcept override { return stored_.empty() && given_ == decoded_bytes_; }

 private:
  bool gather(ByteView& in, std::size_t bytes);
  Result<void> decode(ByteView block);

  std::vector<std::byte> stored_;  // the length of a block and its bytes, as far as they came
  std::vector<std::byte> decoded_;
  std::size_t decoded_bytes_ = 0;
  std::size_t given_ = 0;  // of these
};

/// Decodes the beginning of such blocks, up to `out.size()` bytes, out of the `head` of a file of `file_bytes`, even
/// where not even the first block is there as a whole. Returns how many bytes those are; 0 where they cannot be such.
std::size_t snappy_blocks_head(ByteView head, std::uint64_t file_bytes, std::span<std::byte> out);

}  // namespace dovetail::detail
