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

/// Trailer and footer, from the last bytes of a finished file.
struct ShardTail {
  Trailer trailer;
  Footer footer;                     ///< `info.file_bytes` is set.
  std::uint32_t first_sequence = 1;  ///< Of data block 0; data block i has `first_sequence + i`.
};

/// Reads footer and trailer. `tail` is the last min(file_bytes, kTailBytes) bytes of the file.
/// Errors: `unfinished`, `truncated`, and those of the parts. They carry the offset in the file,
/// but no path.
Result<ShardTail> decode_tail(ByteView tail, std::uint64_t file_bytes);

/// Reads the index block. `block` is header and body, from `footer.index_offset` up to the footer.
/// Checks that the entries are contiguous, begin behind the metadata block and end at the index.
/// Each must lie in one run, and all must add up to the footer.
/// Errors: `index_mismatch` and those of the parts.
Result<std::vector<IndexEntry>> decode_index(ByteView block, const ShardTail& tail);

/// Reads the metadata block that follows the file header. `block` is header and body.
Result<Metadata> decode_metadata_block(ByteView block, std::uint64_t file_id);

}  // namespace dovetail::format
