// SPDX-License-Identifier: Apache-2.0
// Folders and files for tests, and strict readers of what writers leave in them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/shard_info.h>

#include "tests/format/sample_shard.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {

using format::test::Bytes;
using format::test::DecodedShard;
using format::test::Draws;
using format::test::noise;
using format::test::prose;
using format::test::Records;

Bytes read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);
/// Names of everything in a folder, hidden files too, in bytewise order.
std::vector<std::string> names_in(const std::string& folder);

/// A finished shard, read as strictly as the format allows. Throws what is wrong with it.
DecodedShard read_shard_file(const std::string& path);

/// A dataset by its manifest, each shard compared with its entry. Throws what is wrong with it.
struct DecodedDataset {
  DatasetId id;
  std::vector<ShardInfo> infos;
  std::vector<DecodedShard> shards;
  Records records;
};
DecodedDataset read_dataset(const std::string& folder);

/// `count` records of up to `most` bytes, the same for the same seed; some are empty, some
/// compress, some do not.
Records sample_records(std::size_t count, std::size_t most, std::uint64_t seed);

}  // namespace dovetail::test
