// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/endian.h"
#include "format/structures.h"

namespace dovetail::format {

/// The records of a decoded block. They lie back to back, or with the same gap between any two.
/// Ownership: borrows the bytes and the table.
class BlockRecords {
 public:
  BlockRecords() = default;
  /// Records of different sizes. `table` holds `records` cumulative ends, which do not count gaps.
  BlockRecords(const std::byte* data, const std::byte* table, std::uint32_t records, std::uint32_t gap = 0)
      : data_(data), table_(table), records_(records), gap_(gap) {}
  /// Records of one size.
  BlockRecords(const std::byte* data, std::uint32_t records, std::uint32_t record_bytes, std::uint32_t gap = 0)
      : data_(data), records_(records), record_bytes_(record_bytes), gap_(gap) {}

  std::uint32_t size() const noexcept { return records_; }
  /// Returns whether each record has `bytes` bytes. Cost: constant if there is no table.
  bool all_have(std::uint32_t bytes) const noexcept;
  /// Needs: `i < size()`.
  ByteView operator[](std::uint32_t i) const noexcept {
    if (table_ == nullptr) return {data_ + i * stride(), record_bytes_};
    const std::uint32_t begin = i == 0 ? 0 : load_le<std::uint32_t>(end_of(i - 1));
    const std::uint32_t end = load_le<std::uint32_t>(end_of(i));
    return {data_ + begin + std::size_t{i} * gap_, std::size_t{end} - begin};
  }

 private:
  std::size_t stride() const noexcept { return std::size_t{record_bytes_} + gap_; }
  const std::byte* end_of(std::uint32_t i) const noexcept { return table_ + std::size_t{i} * kTableEntryBytes; }

  const std::byte* data_ = nullptr;
  const std::byte* table_ = nullptr;
  std::uint32_t records_ = 0;
  std::uint32_t record_bytes_ = 0;
  std::uint32_t gap_ = 0;  // bytes between the end of a record and the beginning of the next
};

/// Checks that `header`, read at `expected.offset`, is the block that the index promises.
/// Errors: `misplaced_block`, naming the field; `index_mismatch` if only counts, sizes, codec or
/// CRC differ.
Result<void> check_block_header(const BlockHeader& header, const IndexEntry& expected, std::uint64_t file_id,
                                std::uint32_t sequence, std::uint64_t first_record);

/// Checks the CRC of a data block's body, decodes it and checks its table.
///
/// `body` is table and payload as stored, `header.body_bytes()` long. With `Codec::none` the
/// records stay in `body`; otherwise they are decoded into the front of `out`, which must hold
/// `header.raw_bytes`. The table stays in `body` either way.
/// Decoding may overwrite up to `kDecodeSlack` bytes (snappy_decoder.h) of `out` behind the
/// records. It is faster if `out` has these bytes.
/// Errors:  `payload_checksum`, `decompression`, `bad_length`; ENOMEM, which does not mean damage.
/// Threads: any. Cost: no allocation, except for the first zstd block of a thread.
Result<BlockRecords> decode_block(const BlockHeader& header, ByteView body, std::span<std::byte> out);

}  // namespace dovetail::format
