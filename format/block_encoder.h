// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/shard_info.h>

namespace dovetail::format {

/// Records on their way into one block: their bytes back to back, and where each ends.
struct RawBlock {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> ends;

  bool empty() const noexcept { return ends.empty(); }
  std::uint32_t records() const noexcept { return static_cast<std::uint32_t>(ends.size()); }
  void append(ByteView record);
  void clear() noexcept;
};

inline constexpr std::uint32_t kDefaultZstdLevel = 3;

/// A block without its place in a file: all but offset, sequence number and first record.
struct EncodedBlock {
  std::vector<std::byte> body;  ///< Table and payload as stored.
  Codec codec = Codec::none;
  std::uint32_t records = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t table_bytes = 0;
  std::uint32_t payload_crc = 0;
  std::uint32_t min_record_bytes = 0;
  std::uint32_t max_record_bytes = 0;

  std::uint32_t stored_bytes() const noexcept { return static_cast<std::uint32_t>(body.size()) - table_bytes; }
};

/// Compresses where asked and worth it, builds the table, and checksums. A pure function: blocks may be encoded on any
/// thread, in any order. Compression is kept where it saves at least 1/16 of the raw bytes. `level` is that of zstd.
///
/// Needs:   at least one record; lengths within docs/format.md. `out` is overwritten, its memory reused.
/// Threads: any.
void encode_block(const RawBlock& raw, Codec codec, EncodedBlock& out, std::uint32_t level = kDefaultZstdLevel);

}  // namespace dovetail::format
