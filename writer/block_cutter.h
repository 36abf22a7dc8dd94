// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/block_bounds.h"
#include "format/block_encoder.h"
#include "format/shard_encoder.h"

namespace dovetail::detail {

/// What the end of a shard needs to know of its records.
struct ShardCut {
  std::uint64_t run_records = 1;
  std::uint64_t fingerprint = 0;
  std::uint64_t records = 0;
};

/// Cuts records into blocks at the `BlockBounds`. Where the run length is not given, the first records are held back until
/// they amount to `run_bytes` or the first shard ends, and their sizes decide, once for all shards.
///
/// Threads: none.
/// Errors:  those of `emit`; the cutter is of no use after one.
/// Cost:    memory for one block, or for less than `run_bytes` while the run length is open.
class BlockCutter {
 public:
  /// Gets each block in order. It may swap the block's memory for another; the cutter clears what it finds after it.
  using Emit = std::function<Result<void>(format::RawBlock& block)>;

  struct Limits {
    std::uint32_t block_bytes;
    std::uint64_t run_bytes;
    std::uint64_t run_records;  ///< 0 chooses.
  };

  BlockCutter(const Limits& limits, Emit emit);

  Result<void> append(ByteView record);
  /// Closes the last block of the shard; the next record begins another shard.
  Result<ShardCut> end_shard();

 private:
  Result<void> place(ByteView record);
  Result<void> close_block();
  Result<void> choose_run();

  Limits limits_;
  Emit emit_;
  std::uint64_t run_records_;  // 0 while it is open
  format::BlockBounds bounds_;
  format::FirstRecords first_;  // of the held records and the one that decides
  format::RawBlock held_;       // records that wait for the run length
  format::RawBlock block_;
  std::uint64_t records_ = 0;  // of the shard
  format::RecordFingerprint fingerprint_;
};

}  // namespace dovetail::detail
