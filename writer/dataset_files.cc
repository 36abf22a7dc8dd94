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
// Fixed, so that a manifest's bytes depend on its shards alone.
constexpr std::uint64_t kManifestRunRecords = 4096;
constexpr std::uint32_t kManifestBlockBytes = 64 * 1024;

bool is_replaced(const std::string& name) {
  return name == format::kManifestName || shard_number_of(name);
}

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
  // Only the one spelling that the writer uses: the folder may hold other files with a like name.
  if (parsed.ec != std::errc() || name != shard_name(number)) return std::nullopt;
  return number;
}

Result<void> check_vacant(const OutputFolder& folder) {
  DOVETAIL_ASSIGN(auto names, folder.names());
  for (const std::string& name : names) {
    if (is_replaced(name)) {
      return Error(Errc::already_exists, "the folder holds a dataset; overwrite (--overwrite) replaces it")
          .in_file(folder.path_of(name));
    }
  }
  return check_none_hidden(folder, names);
}

Result<void> check_none_hidden(const OutputFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool shard = name.ends_with(format::kShardSuffix) || name.ends_with(format::kTfrecordIndexSuffix);
    if (!shard || name.starts_with('.') || is_replaced(name)) continue;
    return Error(Errc::already_exists,
                 "the folder holds this shard or index, and a new manifest would hide it: give another folder")
        .in_file(folder.path_of(name));
  }
  return {};
}

Result<void> remove_surplus(const OutputFolder& folder, std::size_t shards) {
  DOVETAIL_ASSIGN(auto names, folder.names());
  for (const std::string& name : names) {
    const auto number = shard_number_of(name);
    if (!number || *number < shards) continue;
    DOVETAIL_TRY(folder.remove(name));
  }
  return {};
}

Result<OutputFile> write_manifest(std::shared_ptr<const OutputFolder> folder, const DatasetId& dataset_id, Codec codec,
                                  const std::vector<ShardInfo>& shards) {
  DOVETAIL_ASSIGN(auto file, ShardOutput::create(std::move(folder), format::kManifestName, dataset_id,
                                                 kManifestShardNumber, make_metadata(format::kManifestRecordType)));
  format::EncodedBlock encoded;
  BlockCutter cutter({.block_bytes = kManifestBlockBytes, .run_bytes = 0, .run_records = kManifestRunRecords},
                     [&](const format::RawBlock& block) {
                       format::encode_block(block, codec, encoded);
                       return file.add(encoded);
                     });
  for (const ShardInfo& shard : shards) {
    DOVETAIL_TRY(cutter.append(as_bytes(format::encode(shard))));
  }
  DOVETAIL_ASSIGN(auto cut, cutter.end_shard());
  DOVETAIL_ASSIGN(auto finished, file.finish(cut));
  DOVETAIL_TRY(finished.file.sync());
  return std::move(finished.file);
}

namespace {

Result<void> publish_files(const OutputFolder& folder, std::vector<FinishedShard>& shards, OutputFile& manifest,
                           bool overwrite) {
  for (FinishedShard& shard : shards) {
    DOVETAIL_TRY(shard.file.publish(overwrite));
  }
  if (overwrite) {
    DOVETAIL_TRY(remove_surplus(folder, shards.size()));
  }
  DOVETAIL_TRY(folder.sync());
  DOVETAIL_TRY(manifest.publish(overwrite));
  return folder.sync();
}

/// Whether there is anything that could be replaced. Where that cannot be known, there is.
bool replaces(const OutputFolder& folder) {
  const auto names = folder.names();
  return !names || std::any_of(names->begin(), names->end(), is_replaced);
}

}  // namespace

Result<void> publish_dataset(const OutputFolder& folder, std::vector<FinishedShard>& shards, OutputFile& manifest,
                             bool overwrite) {
  const bool replacing = overwrite && replaces(folder);
  Result<void> done;
  if (replacing) {
    done = folder.remove(format::kManifestName);
    // Durable before a new shard replaces an old one: no crash may leave the old manifest above new shards.
    if (done) done = folder.sync();
  }
  const bool begun = done.has_value();
  if (begun) done = guard_memory(folder.path(), [&] { return publish_files(folder, shards, manifest, overwrite); });
  if (done) return done;
  const auto let_go = replacing && begun ? &OutputFile::leave : &OutputFile::discard;
  for (FinishedShard& shard : shards) (shard.file.*let_go)();
  // Last: without the partial manifest a part of the shards would look like a dataset.
  (manifest.*let_go)();
  return done;
}

}  // namespace dovetail::detail
