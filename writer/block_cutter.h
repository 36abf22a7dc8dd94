// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_writer.h>

#include "format/block_bounds.h"
#include "format/block_encoder.h"
#include "format/shard_encoder.h"

namespace dovetail::detail {

/// The facts about a shard's records that the end of the shard needs.
struct ShardCut {
  std::uint64_t run_records = 1;
  std::uint64_t fingerprint = 0;
  std::uint64_t records = 0;
};

/// Cuts records into blocks at the `BlockBounds`. If no run length is given, the cutter holds the
/// first records back until their sizes can decide the run length of all shards, or the first shard
/// ends.
///
/// Threads: none.
/// Errors:  those of `emit`. After an error the cutter must not be used.
/// Cost:    memory for one block, or for less than 16 MiB or `run_bytes` while the run length is
///          undecided.
class BlockCutter {
 public:
  /// Receives each block in order. It may swap the block's memory for other memory; the cutter
  /// clears the block afterwards.
  using Emit = std::function<Result<void>(format::RawBlock& block)>;

  BlockCutter(const WriterOptions& options, Emit emit);

  Result<void> append(ByteView record);
  /// Closes the last block of the shard. The next record begins another shard.
  Result<ShardCut> end_shard();

 private:
  Result<void> place(ByteView record);
  Result<void> close_block();
  Result<void> choose_run();

  std::uint32_t block_bytes_;
  std::uint64_t run_bytes_;
  Emit emit_;
  std::uint64_t run_records_;  // 0 while undecided
  format::BlockBounds bounds_;
  format::FirstRecords first_;  // of the held records and of the deciding record
  format::RawBlock held_;       // records waiting for the run length
  format::RawBlock block_;
  std::uint64_t records_ = 0;  // of the current shard
  format::RecordFingerprint fingerprint_;
};

}  // namespace dovetail::detail
