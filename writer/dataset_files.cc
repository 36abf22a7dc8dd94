// SPDX-License-Identifier: Apache-2.0
#include "writer/dataset_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

namespace {

constexpr std::string_view kShardPrefix = "shard-";
constexpr std::size_t kShardDigits = 6;
// Constants, so that the bytes of a manifest depend only on its shards.
constexpr std::uint64_t kManifestRunRecords = 4096;
constexpr std::uint32_t kManifestBlockBytes = 64 * 1024;

}  // namespace

std::string shard_name(std::uint32_t number) {
  const std::string digits = std::to_string(number);
  std::string name(kShardPrefix);
  if (digits.size() < kShardDigits) name.append(kShardDigits - digits.size(), '0');
  return name + digits + format::kShardSuffix;
}

std::optional<std::uint32_t> shard_number_of(std::string_view name) {
  if (!name.starts_with(kShardPrefix)) return std::nullopt;
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(name.data() + kShardPrefix.size(), name.data() + name.size(), number);
  // Accept only the writer's own spelling: the folder may hold other files with a similar name.
  if (parsed.ec != std::errc() || name != shard_name(number)) return std::nullopt;
  return number;
}

Result<void> write_manifest(std::shared_ptr<const OutputFolder> folder, const DatasetId& dataset_id, Codec codec,
                            const std::vector<ShardInfo>& shards) {
  DOVETAIL_ASSIGN(auto file, ShardOutput::create(std::move(folder), format::kManifestName, dataset_id,
                                                 kManifestShardNumber, make_metadata(format::kManifestRecordType)));
  format::EncodedBlock encoded;
  BlockCutter cutter({.block_bytes = kManifestBlockBytes, .run_bytes = 0, .run_records = kManifestRunRecords},
                     [&](const format::RawBlock& block) {
                       format::encode_block(block, codec == Codec::none ? Codec::none : Codec::snappy, encoded);
                       return file.add(encoded);
                     });
  for (const ShardInfo& shard : shards) {
    DOVETAIL_TRY(cutter.append(as_bytes(format::encode(shard))));
  }
  DOVETAIL_ASSIGN(auto cut, cutter.end_shard());
  DOVETAIL_ASSIGN(auto finished, file.finish(cut));
  DOVETAIL_TRY(finished.file.sync());
  return finished.file.publish(true);
}

}  // namespace dovetail::detail
