// SPDX-License-Identifier: Apache-2.0
// Consecutive records of a TFRecord file that an index treats as one block.
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

/// CRC32C of the footers of records, one after the other: it changes with the content of any of them, and checking it
/// needs no second pass over the bytes.
class FootersCrc {
 public:
  void add(std::span<const std::byte, kTfrecordFooterBytes> footer) noexcept;
  std::uint32_t value() noexcept;

 private:
  static constexpr std::size_t kHeld = 64;  // footers are checksummed some at a time
  std::uint32_t crc_ = 0;
  std::size_t held_ = 0;
  std::byte footers_[kHeld * kTfrecordFooterBytes];
};

/// Checks the frames of a block, `entry.stored_bytes` of them in all: both CRCs of each record, and that they are those that
/// were indexed. The records stay in `stored`. Where they differ in size `table` gets their cumulative ends, 4 bytes for
/// each; an empty one says that all have the same size.
///
/// Needs:   `entry` is that of an index that was checked; `stored` and `table` have the sizes that follow from it.
/// Errors:  `tfrecord_checksum` for a CRC; `index_mismatch` where the frames are good, but others.
/// Threads: any. Cost: no allocation; each byte is checksummed once.
Result<BlockRecords> decode_tfrecord_block(const IndexEntry& entry, ByteView stored, std::span<std::byte> table);

/// The same for the only record of a block, without its footer, whose CRC the index knows.
Result<void> check_tfrecord(const IndexEntry& entry, std::span<const std::byte, kTfrecordHeaderBytes> header,
                            ByteView record);

}  // namespace dovetail::format
