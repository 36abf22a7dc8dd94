// SPDX-License-Identifier: Apache-2.0
// Small shards, manifests and folders on disk, made with the encoder alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/identity.h>
#include <dovetail/record_reader.h>
#include <dovetail/shard_info.h>

#include "tests/support/temp_folder.h"

namespace dovetail::test {

using Records = std::vector<std::string>;

/// Writes a file anew, in place where it exists, with the folders that it needs.
void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);

/// 00 11 22 ... FF.
DatasetId sample_dataset_id();

/// `count` records of different sizes, the first of them empty, each saying which it is.
Records numbered_records(std::size_t count, const std::string& prefix = "record");

struct ShardSpec {
  Records records = {};
  Codec codec = Codec::none;
  std::uint64_t run_records = 6;
  std::uint32_t block_records = 3;  ///< A block is closed after so many records, whatever the runs.
  std::uint32_t shard_number = 0;
  DatasetId dataset_id = sample_dataset_id();
  std::string record_type = "text";
};

/// A whole shard: its bytes, and its line of a manifest without a name.
struct SampleShard {
  std::string bytes;
  ShardInfo info;
};
SampleShard make_shard(const ShardSpec& spec);

/// Writes a shard; the result has the name and is what a manifest says of it.
ShardInfo write_shard(const std::string& folder, const std::string& name, const ShardSpec& spec);

/// Writes a manifest of these shards.
void write_manifest(const std::string& path, const std::vector<ShardInfo>& shards,
                    const DatasetId& dataset_id = sample_dataset_id());

/// Writes `shards` shards of `records` records each, and their manifest. Shard k is `shard-k.dvt`,
/// its records begin with "k/".
std::vector<ShardInfo> write_dataset(const std::string& folder, std::uint32_t shards, std::size_t records);

/// What begins as a TFRecord file does: the header of a record, its bytes, and a wrong checksum of
/// them.
std::string begun_tfrecord();

/// All records up to the end or the first failure.
Records read_records(RecordReader& reader);

}  // namespace dovetail::test
