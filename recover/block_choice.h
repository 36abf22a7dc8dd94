// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <dovetail/error.h>

#include "format/block_decoder.h"
#include "recover/salvage_file.h"
#include "recover/shard_scan.h"

namespace dovetail::detail {

/// What a footer or a manifest says of the records of a shard.
struct KnownContent {
  std::uint64_t records = 0;
  std::uint64_t fingerprint = 0;
};

/// What the blocks of a shard hold.
struct DecodedBlocks {
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t fingerprint = 0;
};

using BlockSink = std::function<Result<void>(const format::BlockRecords& records)>;

/// Rejects the data blocks that cannot be the shard's, and the index if it is not. What is left is in the order of the
/// records, before all blocks of other types; numbers of records and blocks never overlap.
///
/// The index is right where it knows most of the blocks, or where without it the records are as many as those of
/// `content`, but others. Blocks that a right index does not know are rejected. Without one, of two blocks that cannot both
/// be of one shard, the one at its own place stays; then the one in the longer chain. One that several others contradict
/// stays only where it wins against each of them.
/// Errors: those of `checked`, and the system's.
/// Cost:   O(n log n) for n blocks; decodes them where the index contradicts most of them.
Result<void> choose_blocks(SalvageFile& file, const std::optional<KnownContent>& content, const CheckedBytes& checked,
                           ShardScan& scan);

/// Reads the chosen blocks again, checks and decodes them, and gives their records to `sink`, block by block. Those that fail
/// are rejected.
/// Errors: those of `sink`, of `checked`, and the system's.
/// Cost:   memory for one block.
Result<DecodedBlocks> decode_blocks(SalvageFile& file, ShardScan& scan, const BlockSink& sink,
                                    const CheckedBytes& checked);

}  // namespace dovetail::detail
