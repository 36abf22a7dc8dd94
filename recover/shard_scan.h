// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <dovetail/error.h>

#include "format/layout.h"
#include "format/structures.h"
#include "recover/salvage_file.h"

namespace dovetail::detail {

/// A block of any type with a good header and a good body.
struct FoundBlock {
  std::uint64_t position = 0;  ///< Where it lies, which need not be what its header says.
  std::uint64_t first_record = 0;
  std::uint32_t sequence = 0;
  std::uint32_t records = 0;
  std::uint32_t span_units = 0;  ///< Of `kAlignment` bytes.
  std::uint32_t entry_crc = 0;   ///< Of the index entry that belongs to it.
  std::uint32_t chain = 0;       ///< Blocks that follow each other without a gap, this one among them.
  format::BlockType type = format::BlockType::data;
  Codec codec = Codec::none;
  bool at_own_offset = true;
  bool rejected = false;  ///< A note says why.

  std::uint64_t end() const noexcept { return position + std::uint64_t{span_units} * format::kAlignment; }
  std::uint64_t end_record() const noexcept { return first_record + records; }
  bool is_data() const noexcept { return type == format::BlockType::data; }
};

/// Why bytes are not used.
enum class Finding : std::uint8_t {
  no_header,
  header_checksum,
  unsupported_header,
  foreign_block,
  payload_checksum,
  cut_body,
  passed_over,
  repeated,
  contradicting,
  undecodable,
  unreadable,
};

struct ScanNote {
  std::uint64_t position = 0;
  Finding finding = Finding::no_header;
};

/// Metadata, index or footer.
struct FoundMessage {
  std::uint64_t position = 0;
  format::BlockHeader header;
};

/// Bytes of padding that are not zero.
struct DirtyPadding {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};

/// What is left of a shard, in the order of the file.
struct ShardScan {
  std::uint64_t file_bytes = 0;
  std::uint64_t file_id = 0;
  std::optional<std::uint64_t> header_position;
  std::optional<std::uint64_t> trailer_position;
  format::Trailer trailer;  ///< If there is one.
  std::optional<FoundMessage> metadata;
  std::optional<FoundMessage> index;
  std::optional<FoundMessage> footer;
  std::vector<FoundBlock> blocks;
  std::vector<ScanNote> notes;  ///< The first one in each stretch without structures, and one for each rejected block.
  std::vector<DirtyPadding> padding;
  /// Where the last data block that has a header but no good body would have ended; 0 if a good one came behind it.
  std::uint64_t cut_end_record = 0;
  /// What an index or footer that has a header but no good body says of all records.
  std::optional<std::uint64_t> cut_index_records;
  std::uint64_t checked_bytes = 0;

  std::uint32_t shard_number() const noexcept { return static_cast<std::uint32_t>(file_id); }
  void reject(FoundBlock& block, Finding finding) {
    block.rejected = true;
    notes.push_back({block.position, finding});
  }
  /// Whether there is anything at all of the shard.
  bool anything() const noexcept { return header_position || trailer_position || !blocks.empty(); }
};

/// Called with bytes that were just checked; an error stops the work.
using CheckedBytes = std::function<Result<void>(std::uint64_t bytes)>;

/// The file id that most of file header, first block and trailer have; none where all three are damaged. Looks at no other
/// block, so it may be that of another file which a part of this one comes from.
/// Errors: `unsupported_version` where the file header is good but of another version; the system's.
Result<std::optional<std::uint64_t>> identify_shard(SalvageFile& file);

struct ShardIdentity {
  std::optional<std::uint64_t> file_id;
  std::uint64_t checked_bytes = 0;
};

/// The file id that file header, first block and trailer have, or where one of these is damaged or differs, that of most
/// blocks; none where there are neither.
/// Errors: those of `identify_shard` and of `checked`.
/// Cost:   reads the file at most once.
Result<ShardIdentity> search_identity(SalvageFile& file, const CheckedBytes& checked);

/// Finds the blocks of a shard, as docs/format.md, "Recovering", says. `file_id` is what they must have; without one it is
/// that of `search_identity`.
/// Errors: those of `identify_shard` and of `checked`.
/// Cost:   reads the file about once, and checks at most seven times its bytes; 40 bytes for each block.
Result<ShardScan> scan_shard(SalvageFile& file, std::optional<std::uint64_t> file_id, const CheckedBytes& checked);

}  // namespace dovetail::detail
