// SPDX-License-Identifier: Apache-2.0
#include "inspect/shard_sums.h"

#include <algorithm>
#include <cstddef>

#include "format/try.h"

namespace dovetail::inspect {

void ShardSums::add(const ShardDescription& shard) {
  const ShardInfo& info = shard.info;
  if (info.records > 0) add_records(info.records, info.min_record_bytes, info.max_record_bytes);
  blocks += info.blocks;
  raw_bytes += info.raw_bytes;
  stored_bytes += info.stored_bytes;
  file_bytes += info.file_bytes;
  for (const BlockInfo& block : shard.blocks) {
    CodecShare* const shares[] = {&plain, &snappy, &zstd};
    CodecShare& share = *shares[static_cast<std::size_t>(block.codec)];
    ++share.blocks;
    share.raw_bytes += block.raw_bytes;
    share.stored_bytes += block.stored_bytes;
  }
}

void ShardSums::add_records(std::uint64_t more, std::uint64_t least, std::uint64_t most) {
  min_record_bytes = records == 0 ? least : std::min(min_record_bytes, least);
  max_record_bytes = std::max(max_record_bytes, most);
  records += more;
}

Result<ShardDescription> describe_shard_of(const Dataset& dataset, std::uint32_t number) {
  DOVETAIL_ASSIGN(ShardDescription shard, describe_shard(dataset.shard_path(number)));
  shard.info.name = dataset.shards()[number].name;
  if (shard.info == dataset.shards()[number]) return shard;
  return Error(Errc::manifest_mismatch, "the shard is not the one that the dataset lists")
      .in_file(dataset.shard_path(number));
}

}  // namespace dovetail::inspect
