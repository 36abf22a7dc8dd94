// SPDX-License-Identifier: Apache-2.0
#include "writer/dataset_files.h"

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kShardDigits = 6;
// Constants, so that the bytes of a manifest depend only on its shards.
constexpr std::uint64_t kManifestRunRecords = 4096;
constexpr std::uint32_t kManifestBlockBytes = 64 * 1024;

}  // namespace

std::string shard_name(std::uint32_t number) {
  return std::string(format::kShardPrefix) + format::padded(number, kShardDigits) + format::kShardSuffix;
}

std::optional<std::uint32_t> shard_number_of(std::string_view name) {
  constexpr std::size_t kDigits = format::kShardPrefix.size();
  if (!name.starts_with(format::kShardPrefix)) return std::nullopt;
  const auto number = format::parse_number<std::uint32_t>(name.substr(kDigits, name.find('.') - kDigits));
  // Accept only the writer's own spelling: the folder may hold other files with a similar name.
  return number && name == shard_name(*number) ? number : std::nullopt;
}

Result<void> write_manifest(std::shared_ptr<const OutputFolder> folder, const DatasetId& dataset_id, Codec codec,
                            const std::vector<ShardInfo>& shards) {
  DOVETAIL_ASSIGN(
      auto file, ShardOutput::create(std::move(folder), format::kManifestName, dataset_id, format::kManifestShardNumber,
                                     make_metadata(format::kManifestRecordType)));
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
