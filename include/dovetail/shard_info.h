// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dovetail/export.h>

namespace dovetail {

/// How the records of a block are stored. Values are part of the format.
enum class Codec : std::uint8_t {
  none = 0,    ///< As they are.
  snappy = 1,  ///< One raw Snappy stream.
  zstd = 2,    ///< One Zstandard frame: smaller, and slower to decode.
};

/// Returns "none", "snappy" or "zstd".
DOVETAIL_EXPORT std::string_view to_string(Codec codec) noexcept;

/// What is known of a shard without reading its records: one line of a manifest.
struct DOVETAIL_EXPORT ShardInfo {
  std::string name;  ///< File name, relative to the folder of the manifest.
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;       ///< Data blocks.
  std::uint64_t run_records = 1;  ///< Records per run; a block ends at every multiple of it.
  std::uint64_t raw_bytes = 0;    ///< Bytes of all records, before compression.
  /// Bytes of all data blocks as stored, tables included, headers not.
  std::uint64_t stored_bytes = 0;
  std::uint64_t file_bytes = 0;  ///< Size of the file.
  std::uint32_t min_record_bytes = 0;
  std::uint32_t max_record_bytes = 0;
  std::uint32_t max_block_raw = 0;     ///< Bytes of the records of the largest block.
  std::uint32_t max_block_stored = 0;  ///< Stored bytes of the largest block, table included.
  std::uint32_t max_block_records = 0;
  /// Fingerprint of the records alone: the same for every codec and block size.
  std::uint64_t fingerprint = 0;
  std::uint64_t file_id = 0;  ///< High half: CRC32C of the dataset id; low half: shard number.

  friend bool operator==(const ShardInfo&, const ShardInfo&) = default;
};

}  // namespace dovetail
