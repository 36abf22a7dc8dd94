// SPDX-License-Identifier: Apache-2.0
// The fixed-size structures of the container: conversion between values and bytes. See
// docs/format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/layout.h"

namespace dovetail::format {

struct FileHeader {
  std::uint16_t major = kVersionMajor;
  std::uint16_t minor = kVersionMinor;
  std::uint32_t shard_number = 0;
  DatasetId dataset_id;
  std::uint64_t must_understand = 0;
  std::uint64_t may_ignore = 0;

  friend bool operator==(const FileHeader&, const FileHeader&) = default;
};

/// High half: CRC32C of the dataset id; low half: the shard number.
std::uint64_t make_file_id(const DatasetId& dataset_id, std::uint32_t shard_number) noexcept;

/// Returns whether readers that do not know the type skip the block. Such blocks lie only between
/// metadata and data.
constexpr bool is_skippable(BlockType type) noexcept {
  return static_cast<std::uint8_t>(type) >= kFirstSkippableType;
}

struct BlockHeader {
  BlockType type = BlockType::data;
  Codec codec = Codec::none;
  std::uint64_t offset = 0;
  std::uint64_t first_record = 0;
  std::uint32_t sequence = 0;
  std::uint32_t records = 0;
  std::uint32_t stored_bytes = 0;  ///< Payload as stored, table not counted.
  std::uint32_t raw_bytes = 0;
  std::uint32_t table_bytes = 0;
  std::uint32_t payload_crc = 0;
  std::uint64_t file_id = 0;

  /// Table and payload: what follows the header.
  std::uint64_t body_bytes() const noexcept { return std::uint64_t{table_bytes} + stored_bytes; }
  /// Header, body and padding: the distance to the next structure.
  std::uint64_t span_bytes() const noexcept { return align_up(kBlockHeaderBytes + body_bytes()); }
  friend bool operator==(const BlockHeader&, const BlockHeader&) = default;
};

struct IndexEntry {
  std::uint64_t offset = 0;
  std::uint32_t records = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t table_bytes = 0;
  std::uint32_t payload_crc = 0;
  Codec codec = Codec::none;

  std::uint64_t span_bytes() const noexcept {
    return align_up(kBlockHeaderBytes + std::uint64_t{table_bytes} + stored_bytes);
  }
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

struct Trailer {
  std::uint64_t file_bytes = 0;
  std::uint64_t footer_offset = 0;
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t file_id = 0;

  friend bool operator==(const Trailer&, const Trailer&) = default;
};

// Encoding cannot fail. Decoding checks magic, CRC, reserved bytes, limits, and that the lengths
// agree. Errors carry neither file nor offset; the caller adds them.

void encode(const FileHeader& header, std::span<std::byte, kFileHeaderBytes> out) noexcept;
/// Errors: `not_dovetail`, `header_checksum`, `unsupported_version`.
Result<FileHeader> decode_file_header(std::span<const std::byte, kFileHeaderBytes> in);

void encode(const BlockHeader& header, std::span<std::byte, kBlockHeaderBytes> out) noexcept;
/// If the type `is_skippable`, the codec may be any.
/// Errors: `header_checksum` (also for a wrong sync word); `unsupported_version` for an unknown
/// type or codec in a block that may not be skipped; `bad_length`.
Result<BlockHeader> decode_block_header(std::span<const std::byte, kBlockHeaderBytes> in);

void encode(const IndexEntry& entry, std::span<std::byte, kIndexEntryBytes> out) noexcept;
/// Errors: `bad_length`, `unsupported_version`. The entry has no CRC: the CRC of the index block
/// covers it.
Result<IndexEntry> decode_index_entry(std::span<const std::byte, kIndexEntryBytes> in);

void encode(const Trailer& trailer, std::span<std::byte, kTrailerBytes> out) noexcept;
/// Errors: `unfinished` unless magic and CRC hold, `unsupported_version`, `bad_length`.
Result<Trailer> decode_trailer(std::span<const std::byte, kTrailerBytes> in);

/// Checks that lengths, codec and record count of a block are within the limits of docs/format.md
/// and can be true together.
Result<void> check_block_lengths(BlockType type, Codec codec, std::uint32_t records, std::uint32_t stored_bytes,
                                 std::uint32_t raw_bytes, std::uint32_t table_bytes);

}  // namespace dovetail::format
