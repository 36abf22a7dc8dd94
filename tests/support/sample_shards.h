// SPDX-License-Identifier: Apache-2.0
// Small shards and manifests, in memory and on disk, made with the encoder alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/block_encoder.h"
#include "format/messages.h"
#include "tests/support/files.h"
#include "tests/support/sample_records.h"

namespace dovetail::test {

/// 00 11 22 ... FF.
DatasetId sample_dataset_id();

struct ShardSpec {
  Records records = {};
  Codec codec = Codec::none;
  std::uint64_t run_records = 4;
  std::uint32_t block_records = 2;  ///< A block is closed after so many, and where a run ends.
  std::uint32_t shard_number = 3;
  DatasetId dataset_id = sample_dataset_id();
  format::Metadata metadata = {"text", "sample", {{"colour", "blue"}}};
  bool blocks_cross_runs = false;  ///< Which no reader accepts.
};

/// Three kinds of blocks, a few hundred bytes.
ShardSpec small_spec();

/// A whole shard: its bytes, and its line of a manifest without a name.
struct SampleShard {
  Bytes bytes;
  ShardInfo info;
};
SampleShard make_shard(const ShardSpec& spec);

/// The block of records, encoded.
format::EncodedBlock encode_records(const Records& records, Codec codec);

/// Writes a shard; the result has the name and is what a manifest says of it.
ShardInfo write_shard(const std::string& folder, const std::string& name, const ShardSpec& spec);

/// Writes a manifest of these shards.
void write_manifest(const std::string& path, const std::vector<ShardInfo>& shards,
                    const DatasetId& dataset_id = sample_dataset_id());

/// Writes `shards` shards of `records` records each, in blocks of three and runs of six, and their
/// manifest. Shard k is `shard-k.dvt`, its records begin with "k/".
std::vector<ShardInfo> write_dataset(const std::string& folder, std::uint32_t shards, std::size_t records);

}  // namespace dovetail::test
