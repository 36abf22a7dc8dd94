// SPDX-License-Identifier: Apache-2.0
// A reader of whole shards and datasets that checks everything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/shard_decoder.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {

struct DecodedShard {
  format::FileHeader header;
  format::Metadata metadata;
  format::ShardTail tail;
  std::vector<format::IndexEntry> index;
  std::vector<format::BlockHeader> blocks;
  Records records;
};

/// Reads a file as strictly as a reader can: every structure, every block against the index, the
/// fingerprint.
Result<DecodedShard> read_shard(ByteView file);
/// The same of a file. Throws what is wrong with it.
DecodedShard read_shard_file(const std::string& path);

/// The bytes of a finished shard that no checksum covers: the padding behind each block.
std::vector<bool> padding_of(const DecodedShard& shard, std::size_t file_bytes);

/// A dataset by its manifest, each shard compared with its entry. Throws what is wrong with it.
struct DecodedDataset {
  DatasetId id;
  std::vector<ShardInfo> infos;
  std::vector<DecodedShard> shards;
  Records records;
};
DecodedDataset read_dataset(const std::string& folder);

}  // namespace dovetail::test
