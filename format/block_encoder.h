// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/shard_info.h>

namespace dovetail::format {

/// The records of a block before encoding: their bytes back to back, and the end of each.
struct RawBlock {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> ends;

  bool empty() const noexcept { return ends.empty(); }
  std::uint32_t records() const noexcept { return static_cast<std::uint32_t>(ends.size()); }
  void append(ByteView record);
  void clear() noexcept;
};

inline constexpr std::uint32_t kDefaultZstdLevel = 3;

/// An encoded block without its place in a file: offset, sequence number and first record are
/// missing.
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

/// Builds the table, compresses the records if asked, and computes the checksum. Keeps the
/// compressed form only if it saves at least 1/16 of the raw bytes. `level` is the zstd level. A
/// pure function: threads may encode blocks in any order.
///
/// Needs:   at least one record; lengths within docs/format.md. `out` is overwritten, its memory
///          reused.
/// Threads: any.
void encode_block(const RawBlock& raw, Codec codec, EncodedBlock& out, std::uint32_t level = kDefaultZstdLevel);

}  // namespace dovetail::format
