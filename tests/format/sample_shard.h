// SPDX-License-Identifier: Apache-2.0
// Whole shards in memory, and a reader of them that checks everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/shard_decoder.h"
#include "format/shard_encoder.h"

namespace dovetail::format::test {

using Bytes = std::vector<std::byte>;
using Records = std::vector<std::string>;

/// 00 11 22 ... FF.
DatasetId sample_dataset_id();

/// SplitMix64: the same numbers on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept;
  /// In [0, n). Needs: `n > 0`.
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }

 private:
  std::uint64_t state_;
};

/// `size` bytes that do not compress.
std::string noise(std::size_t size, std::uint64_t seed);
/// `size` bytes that compress well.
std::string prose(std::size_t size, std::uint64_t seed);

struct ShardSpec {
  Records records = {};
  Codec codec = Codec::none;
  std::uint64_t run_records = 4;
  std::uint32_t block_records = 2;  ///< A block is closed after so many, and at every multiple of `run_records`.
  std::uint32_t shard_number = 3;
  Metadata metadata = {"text", "sample", {{"colour", "blue"}}};
};

struct SampleShard {
  Bytes bytes;
  ShardInfo info;
};

SampleShard make_shard(const ShardSpec& spec);

struct DecodedShard {
  FileHeader header;
  Metadata metadata;
  ShardTail tail;
  std::vector<IndexEntry> index;
  std::vector<BlockHeader> blocks;
  Records records;
};

/// Reads a file as strictly as a reader can: every structure, every block against the index, the
/// fingerprint.
Result<DecodedShard> read_shard(ByteView file);

/// The bytes of a finished shard that no checksum covers: the padding behind each block.
std::vector<bool> padding_of(const DecodedShard& shard, std::size_t file_bytes);

/// The block of records, encoded.
EncodedBlock encode_records(const Records& records, Codec codec);

}  // namespace dovetail::format::test
