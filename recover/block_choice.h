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

/// The content of a shard's blocks.
struct DecodedBlocks {
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t fingerprint = 0;
};

using BlockSink = std::function<Result<void>(const format::BlockRecords& records)>;

/// Rejects data blocks that cannot belong to the shard, and the index if it does not. The remaining
/// data blocks are in the order of the records, before all blocks of other types. Their numbers of
/// records and blocks never overlap.
///
/// The index is trusted if it lists at least half of the blocks. It is also trusted if, without it,
/// the number of records equals that of `content`, but the fingerprint differs. A trusted index
/// rejects all blocks that it does not list.
/// Without one, of two blocks that contradict each other, the block at its own offset stays, and
/// then the block in the longer chain. A block that contradicts several others stays only if it
/// wins against each of them.
/// Errors: those of `checked`, and the system's.
/// Cost:   O(n log n) for n blocks. Decodes the blocks if the index contradicts most of them.
Result<void> choose_blocks(SalvageFile& file, const std::optional<ShardInfo>& content, const CheckedBytes& checked,
                           ShardScan& scan);

/// Reads the chosen blocks again, checks and decodes them, and passes their records to `sink`,
/// block by block. Rejects blocks that fail.
/// Errors: those of `sink`, of `checked`, and the system's.
/// Cost:   memory for one block.
Result<DecodedBlocks> decode_blocks(SalvageFile& file, ShardScan& scan, const BlockSink& sink,
                                    const CheckedBytes& checked);

}  // namespace dovetail::detail
