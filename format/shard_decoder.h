// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/messages.h"
#include "format/structures.h"

namespace dovetail::format {

/// What the last bytes of a finished file tell.
struct ShardTail {
  Trailer trailer;
  Footer footer;                     ///< `info.file_bytes` is filled in.
  std::uint32_t first_sequence = 1;  ///< Of the first data block; block i of the index has `first_sequence + i`.
};

/// Reads footer and trailer from the end of a file. `tail` is its last min(file_bytes, kTailBytes) bytes.
/// Errors: `unfinished`, `truncated`, and those of the parts; offsets are those of the file, without its path.
Result<ShardTail> decode_tail(ByteView tail, std::uint64_t file_bytes);

/// Reads the index block. `block` is header and body, from `footer.index_offset` up to the footer.
/// Checks that entries are contiguous, begin behind the metadata block, end at the index, lie in one run each, and add up
/// to the footer.
/// Errors: `index_mismatch` and those of the parts.
Result<std::vector<IndexEntry>> decode_index(ByteView block, const ShardTail& tail);

/// Reads the metadata block that follows the file header. `block` is header and body.
Result<Metadata> decode_metadata_block(ByteView block, std::uint64_t file_id);

}  // namespace dovetail::format
