// SPDX-License-Identifier: Apache-2.0
// Consecutive records of a TFRecord file, which an index treats as one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "format/structures.h"
#include "format/tfrecord/tfrecord.h"

namespace dovetail::format {

/// CRC32C of the concatenated footers of records. It changes with the content of any record, and
/// checking it needs no second pass over the bytes.
class FootersCrc {
 public:
  void add(std::span<const std::byte, kTfrecordFooterBytes> footer) noexcept;
  std::uint32_t value() noexcept;

 private:
  static constexpr std::size_t kHeld = 64;  // batches footers for one CRC call
  std::uint32_t crc_ = 0;
  std::size_t held_ = 0;
  std::byte footers_[kHeld * kTfrecordFooterBytes];
};

/// Checks all frames of a block, `entry.stored_bytes` in total: both CRCs of each record, and that
/// the records are those indexed. The records stay in `stored`. If they differ in size, `table`
/// receives their cumulative ends, 4 bytes each. An empty `table` means that all have the same
/// size.
///
/// Needs:   `entry` comes from a checked index; `stored` and `table` have the sizes that follow
///          from `entry`.
/// Errors:  `tfrecord_checksum` for a CRC; `index_mismatch` if the frames are valid, but not those
///          indexed.
/// Threads: any. Cost: no allocation; each byte is checksummed once.
Result<BlockRecords> decode_tfrecord_block(const IndexEntry& entry, ByteView stored, std::span<std::byte> table);

/// The same for a block of one record, without its footer: the index holds the footer's CRC.
Result<void> check_tfrecord(const IndexEntry& entry, std::span<const std::byte, kTfrecordHeaderBytes> header,
                            ByteView record);

}  // namespace dovetail::format
