// SPDX-License-Identifier: Apache-2.0
// The index of a TFRecord file, which makes the file a shard: all records of the index except its
// first (messages.h). See docs/format.md, "Indexes of TFRecords".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/shard_info.h>

#include "format/structures.h"

namespace dovetail::format {

/// One block: consecutive records. A block begins where the block before ends.
struct TfrecordBlock {
  std::uint32_t records = 0;
  std::uint32_t stored_bytes = 0;  ///< Including the frames.
  std::uint32_t footers_crc = 0;   ///< See `FootersCrc`.

  friend bool operator==(const TfrecordBlock&, const TfrecordBlock&) = default;
};

void encode(const TfrecordBlock& block, std::vector<std::byte>& out);

/// Computes the `file_id` of a TFRecord shard from its size and the footers of all its blocks.
class TfrecordIdentity {
 public:
  void add(const TfrecordBlock& block) noexcept;
  std::uint64_t value(std::uint64_t file_bytes) const noexcept;

 private:
  std::uint32_t crc_ = 0;
};

/// Collects the blocks of an index: the records behind the first, in order.
class TfrecordIndexReader {
 public:
  explicit TfrecordIndexReader(const ShardInfo& info) : info_(info) {}

  /// Errors: `bad_length`, `index_mismatch` if `record` cannot be a block of this file.
  Result<void> add(ByteView record);
  /// Returns the blocks as those of a shard; `payload_crc` is the CRC of their footers.
  /// Errors: `index_mismatch` if the blocks do not add up to the file, or contradict the largest
  /// sizes or the id in `info`.
  Result<std::vector<IndexEntry>> finish();

 private:
  Result<void> add_block(const TfrecordBlock& block);

  ShardInfo info_;
  std::vector<IndexEntry> blocks_;
  std::uint64_t offset_ = 0;
  std::uint64_t records_ = 0;
  std::uint32_t max_block_raw_ = 0;
  std::uint32_t max_block_stored_ = 0;
  std::uint32_t max_block_records_ = 0;
  TfrecordIdentity identity_;
};

}  // namespace dovetail::format
