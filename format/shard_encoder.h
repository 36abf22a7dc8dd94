// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/block_encoder.h"
#include "format/messages.h"
#include "format/structures.h"

namespace dovetail::format {

/// Turns encoded blocks into the bytes of a file. Does no I/O.
///
/// Each call appends the next bytes of the file to `out`. The caller writes and clears `out`. The
/// file is the concatenation of all bytes appended.
/// Threads: none.
class ShardEncoder {
 public:
  ShardEncoder(const DatasetId& dataset_id, std::uint32_t shard_number);

  /// Appends the file header and the metadata block. Call `begin` first.
  /// Errors: `invalid_option` if the metadata exceed their limit.
  Result<void> begin(const Metadata& metadata, std::vector<std::byte>& out);
  /// Appends one data block: header, body and padding. Errors: `bad_length` after `kMaxShardBlocks`
  /// blocks.
  Result<void> add(const EncodedBlock& block, std::vector<std::byte>& out);
  /// Appends index, footer and trailer. Call `finish` last. `fingerprint` covers the records, see
  /// `RecordFingerprint`.
  ShardInfo finish(std::uint64_t run_records, std::uint64_t fingerprint, std::vector<std::byte>& out);

  std::uint64_t records() const noexcept { return info_.records; }

 private:
  void put_block(BlockHeader header, std::span<const std::byte> body, std::vector<std::byte>& out);

  DatasetId dataset_id_;
  std::uint32_t shard_number_;
  std::uint64_t offset_ = 0;
  std::uint32_t sequence_ = 0;
  ShardInfo info_;
  std::vector<std::byte> index_;
};

/// The fingerprint of a shard's records: CRC32C of their bytes (high half) and of their lengths as
/// u32 (low half). It depends neither on blocks nor on the codec.
class RecordFingerprint {
 public:
  void add(ByteView record) noexcept;
  std::uint64_t value() const noexcept { return (std::uint64_t{bytes_} << 32) | lengths_; }

 private:
  std::uint32_t bytes_ = 0;
  std::uint32_t lengths_ = 0;
};

}  // namespace dovetail::format
