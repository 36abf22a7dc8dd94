// SPDX-License-Identifier: Apache-2.0
// Every number of the container format, and nothing else. docs/format.md is the specification; a
// test compares it with this file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dovetail::format {

inline constexpr std::uint16_t kVersionMajor = 1;
inline constexpr std::uint16_t kVersionMinor = 0;

// The high bit and the line ends reveal a transfer that is not 8-bit clean.
inline constexpr std::array<std::uint8_t, 8> kFileMagic = {0x89, 'D', 'V', 'T', 0x0D, 0x0A, 0x1A, 0x0A};
inline constexpr std::array<std::uint8_t, 8> kTrailerMagic = {0x89, 'D', 'V', 'T', 'E', 'N', 'D', 0x0A};
inline constexpr std::uint32_t kBlockSync = 0x4B4C4244;  // "DBLK" as bytes

inline constexpr std::size_t kAlignment = 64;  // every structure begins at a multiple of 64
inline constexpr std::size_t kFileHeaderBytes = 64;
inline constexpr std::size_t kBlockHeaderBytes = 64;
inline constexpr std::size_t kTrailerBytes = 64;
inline constexpr std::size_t kIndexEntryBytes = 32;
inline constexpr std::size_t kTableEntryBytes = 4;

/// The values are stored in files. A reader skips blocks of an unknown type from 0x80 on, and
/// refuses all other unknown types.
enum class BlockType : std::uint8_t { metadata = 1, data = 2, index = 3, footer = 4 };
inline constexpr std::uint8_t kFirstSkippableType = 0x80;

// Limits, checked before any allocation.
inline constexpr std::uint32_t kMaxRecordBytes = 0xFFFFFFFFu;
inline constexpr std::uint32_t kMaxSharedBlockBytes = 64u << 20;  // unless the block has one record
inline constexpr std::uint32_t kMaxBlockRecords = 1u << 20;
inline constexpr std::uint32_t kMaxMetadataBytes = 16u << 20;
inline constexpr std::uint32_t kTailBytes = 64u << 10;  // footer block and trailer fit in the last 64 KiB
inline constexpr std::uint32_t kMaxFooterBytes = kTailBytes - kTrailerBytes - kBlockHeaderBytes;
inline constexpr std::uint32_t kMaxManifestEntryBytes = 64u << 10;
inline constexpr std::uint32_t kMaxShardNameBytes = 4096;                         // the longest path that Linux accepts
inline constexpr std::uint32_t kMaxShardBlocks = 0xFFFFFFFFu / kIndexEntryBytes;  // data blocks that an index can list
inline constexpr std::uint32_t kMaxIndexBytes = kMaxShardBlocks * std::uint32_t{kIndexEntryBytes};
inline constexpr std::uint64_t kMaxShardRecords = std::uint64_t{kMaxShardBlocks} * kMaxBlockRecords;
inline constexpr std::uint64_t kMaxFileBytes = (std::uint64_t{1} << 63) - 1;  // sums of offsets and lengths cannot wrap

// Larger payloads are stored uncompressed, so that decoding never needs more memory than this.
inline constexpr std::uint32_t kMaxCompressedRawBytes = kMaxSharedBlockBytes;
// A Snappy element of three bytes copies at most 64 bytes. So no valid stream expands to more than
// 22 times its size plus the slack.
inline constexpr std::uint64_t kMaxSnappyExpansion = 22;
inline constexpr std::uint64_t kSnappySlackBytes = 64;
// A zstd block of four bytes expands to at most 128 KiB of one byte.
inline constexpr std::uint64_t kMaxZstdExpansion = 32768;

inline constexpr std::uint32_t kMinBlockTarget = 1u << 10;
inline constexpr std::uint32_t kMaxBlockTarget = kMaxSharedBlockBytes;
inline constexpr std::uint64_t kMaxRunBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxRunRecords = std::uint64_t{1} << 40;

inline constexpr char kManifestName[] = "manifest.dvt";
/// Writers name shards `shard-NNNNNN.dvt`.
inline constexpr std::string_view kShardPrefix = "shard-";
inline constexpr char kShardSuffix[] = ".dvt";
inline constexpr char kManifestRecordType[] = "dovetail.ShardInfo";
inline constexpr std::uint32_t kManifestShardNumber = 0xFFFFFFFFu;

// The shards that one part of a conversion has finished. The file exists until the parts are
// merged.
inline constexpr std::uint32_t kPartShardNumber = 0xFFFFFFFDu;
inline constexpr char kPartRecordType[] = "dovetail.Part";

// The index of a TFRecord file lies beside the file, with the same name and this suffix.
inline constexpr char kTfrecordIndexSuffix[] = ".dvi";
inline constexpr std::uint32_t kTfrecordIndexShardNumber = 0xFFFFFFFEu;
inline constexpr char kTfrecordIndexRecordType[] = "dovetail.TfrecordIndex";
inline constexpr std::size_t kTfrecordIndexEntryBytes = 12;
inline constexpr std::size_t kTfrecordEndBytes = 16;

/// `value` rounded up to the next multiple of `kAlignment`.
constexpr std::uint64_t align_up(std::uint64_t value) noexcept {
  return (value + (kAlignment - 1)) & ~std::uint64_t{kAlignment - 1};
}

/// Offsets of the fields of each structure, in bytes.
namespace file_header {
inline constexpr std::size_t kMagic = 0;            // 8 bytes
inline constexpr std::size_t kMajor = 8;            // u16
inline constexpr std::size_t kMinor = 10;           // u16
inline constexpr std::size_t kShardNumber = 12;     // u32
inline constexpr std::size_t kDatasetId = 16;       // 16 bytes
inline constexpr std::size_t kMustUnderstand = 32;  // u64: a reader refuses a file with a bit that it does not know
inline constexpr std::size_t kMayIgnore = 40;       // u64
inline constexpr std::size_t kReserved = 48;        // 12 bytes, zero
inline constexpr std::size_t kCrc = 60;             // u32: CRC32C of bytes [0, 60)
}  // namespace file_header

namespace block_header {
inline constexpr std::size_t kSync = 0;          // u32
inline constexpr std::size_t kType = 4;          // u8
inline constexpr std::size_t kCodec = 5;         // u8
inline constexpr std::size_t kReserved = 6;      // u16, zero
inline constexpr std::size_t kOffset = 8;        // u64: of this header in the file
inline constexpr std::size_t kFirstRecord = 16;  // u64: records in the data blocks before it
inline constexpr std::size_t kSequence = 24;     // u32: blocks before it in the file
inline constexpr std::size_t kRecords = 28;      // u32: 0 unless a data block
inline constexpr std::size_t kStoredBytes = 32;  // u32: payload as stored, table not counted
inline constexpr std::size_t kRawBytes = 36;     // u32: payload after decoding
inline constexpr std::size_t kTableBytes = 40;   // u32: 0, or 4 per record
inline constexpr std::size_t kPayloadCrc = 44;   // u32: CRC32C of table and payload as stored
inline constexpr std::size_t kFileId = 48;       // u64
inline constexpr std::size_t kReserved2 = 56;    // u32, zero
inline constexpr std::size_t kCrc = 60;          // u32: CRC32C of bytes [0, 60)
}  // namespace block_header

namespace index_entry {
inline constexpr std::size_t kOffset = 0;        // u64: of the block header
inline constexpr std::size_t kRecords = 8;       // u32
inline constexpr std::size_t kStoredBytes = 12;  // u32: payload as stored, table not counted
inline constexpr std::size_t kRawBytes = 16;     // u32
inline constexpr std::size_t kTableBytes = 20;   // u32
inline constexpr std::size_t kPayloadCrc = 24;   // u32
inline constexpr std::size_t kCodec = 28;        // u8
inline constexpr std::size_t kReserved = 29;     // 3 bytes, zero
}  // namespace index_entry

namespace tfrecord_index_entry {
inline constexpr std::size_t kRecords = 0;      // u32
inline constexpr std::size_t kStoredBytes = 4;  // u32: with the 16 bytes of each record's frame
inline constexpr std::size_t kFootersCrc = 8;   // u32: CRC32C of the records' footers, 4 bytes each, in order
}  // namespace tfrecord_index_entry

namespace trailer {
inline constexpr std::size_t kMagic = 0;          // 8 bytes
inline constexpr std::size_t kFileBytes = 8;      // u64: size of the whole file
inline constexpr std::size_t kFooterOffset = 16;  // u64: of the footer's block header
inline constexpr std::size_t kRecords = 24;       // u64
inline constexpr std::size_t kBlocks = 32;        // u64: data blocks
inline constexpr std::size_t kFileId = 40;        // u64
inline constexpr std::size_t kReserved = 48;      // 12 bytes, zero
inline constexpr std::size_t kCrc = 60;           // u32: CRC32C of bytes [0, 60)
}  // namespace trailer

}  // namespace dovetail::format
