// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/dataset/shard_file.h"

namespace dovetail {
namespace detail {

Result<ShardDescription> describe(const ShardFile& shard) {
  DOVETAIL_ASSIGN(auto metadata, shard.read_metadata());

  ShardDescription description;
  description.tfrecord = shard.framing() == Framing::tfrecord;
  description.version_major = shard.header().major;
  description.version_minor = shard.header().minor;
  description.dataset_id = shard.header().dataset_id;
  description.shard_number = shard.header().shard_number;
  description.record_type = description.tfrecord ? "tfrecord" : std::move(metadata.record_type);
  description.writer = std::move(metadata.writer);
  description.metadata = std::move(metadata.user);
  description.schema = std::move(metadata.schema);
  description.info = shard.info();
  description.blocks.reserve(shard.blocks().size());
  for (std::size_t i = 0; i < shard.blocks().size(); ++i) {
    const format::IndexEntry& entry = shard.blocks()[i];
    BlockInfo block;
    block.offset = entry.offset;
    block.first_record = shard.first_record(i);
    block.records = entry.records;
    block.stored_bytes = entry.table_bytes + entry.stored_bytes;
    block.raw_bytes = entry.raw_bytes;
    block.codec = entry.codec;
    block.has_table = entry.table_bytes != 0;
    description.blocks.push_back(block);
  }
  return description;
}

}  // namespace detail

Result<ShardDescription> describe_shard(const std::string& path) {
  return detail::guard_memory(path, [&]() -> Result<ShardDescription> {
    auto shard = detail::ShardFile::open(path);
    if (!shard) return detail::of_named_file(shard.error(), path);
    return detail::describe(*shard);
  });
}

}  // namespace dovetail
