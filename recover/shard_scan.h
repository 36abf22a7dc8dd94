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

/// A block of any type whose header and body are valid.
struct FoundBlock {
  std::uint64_t position = 0;  ///< Offset in the file, which may differ from the header's.
  std::uint64_t first_record = 0;
  std::uint32_t sequence = 0;
  std::uint32_t records = 0;
  std::uint32_t span_units = 0;  ///< In units of `kAlignment` bytes.
  std::uint32_t entry_crc = 0;   ///< CRC of the index entry that belongs to the block.
  std::uint32_t chain = 0;       ///< Length of its chain: blocks that follow without a gap.
  format::BlockType type = format::BlockType::data;
  Codec codec = Codec::none;
  bool at_own_offset = true;
  bool rejected = false;  ///< A note gives the reason.

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

/// A metadata, index or footer block.
struct FoundMessage {
  std::uint64_t position = 0;
  format::BlockHeader header;
};

/// Bytes of padding that are not zero.
struct DirtyPadding {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};

/// The structures left of a shard, in the order of the file.
struct ShardScan {
  std::uint64_t file_bytes = 0;
  std::uint64_t file_id = 0;
  std::optional<std::uint64_t> header_position;
  std::optional<std::uint64_t> trailer_position;
  format::Trailer trailer;  ///< Valid if `trailer_position` is set.
  std::optional<FoundMessage> metadata;
  std::optional<FoundMessage> index;
  std::optional<FoundMessage> footer;
  std::vector<FoundBlock> blocks;
  /// The first finding in each stretch without structures, and one for each rejected block.
  std::vector<ScanNote> notes;
  std::vector<DirtyPadding> padding;
  /// The end in records of the last data block with a valid header and a damaged body. 0 if a valid
  /// block came behind it.
  std::uint64_t cut_end_record = 0;
  /// The number of all records by an index or footer with a valid header and a damaged body.
  std::optional<std::uint64_t> cut_index_records;

  std::uint32_t shard_number() const noexcept { return static_cast<std::uint32_t>(file_id); }
  void reject(FoundBlock& block, Finding finding) {
    block.rejected = true;
    notes.push_back({block.position, finding});
  }
  /// Returns whether anything of the shard was found.
  bool anything() const noexcept { return header_position || trailer_position || !blocks.empty(); }
};

/// Called with the number of bytes just checked. An error stops the work.
using CheckedBytes = std::function<Result<void>(std::uint64_t bytes)>;

/// Returns the file id that most of file header, first block and trailer have, or nothing if all
/// three are damaged. Does not look at other blocks, so the id may be that of another file from
/// which some bytes come.
/// Errors: `unsupported_version` if the file header is valid, but of another version; the system's.
Result<std::optional<std::uint64_t>> identify_shard(SalvageFile& file);

/// Returns the file id of file header, first block and trailer. If one of these is damaged or
/// differs, returns the file id of most blocks, or nothing if there are none.
/// Errors: those of `identify_shard` and of `checked`.
/// Cost:   reads the file at most once.
Result<std::optional<std::uint64_t>> search_identity(SalvageFile& file, const CheckedBytes& checked);

/// Finds the blocks of a shard, see docs/format.md, "Recovering". All must have `file_id`; without
/// one, the scan uses the id of `search_identity`.
/// Errors: those of `identify_shard` and of `checked`.
/// Cost:   reads the file about once, and checks at most seven times its bytes; 40 bytes of memory
///         per block.
Result<ShardScan> scan_shard(SalvageFile& file, std::optional<std::uint64_t> file_id, const CheckedBytes& checked);

}  // namespace dovetail::detail
