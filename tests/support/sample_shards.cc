// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_shards.h"

#include <dovetail/bytes.h>

#include "format/layout.h"
#include "format/shard_encoder.h"

namespace dovetail::test {

DatasetId sample_dataset_id() {
  DatasetId id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(0x11 * i);
  return id;
}

ShardSpec small_spec() {
  return {.records = {"dove", "tails", "pin", "saw", "", "glue", prose(150, 1), prose(90, 2)}, .codec = Codec::snappy};
}

SampleShard make_shard(const ShardSpec& spec) {
  SampleShard shard;
  format::ShardEncoder encoder(spec.dataset_id, spec.shard_number);
  encoder.begin(spec.metadata, shard.bytes).value();
  format::RecordFingerprint fingerprint;
  format::RawBlock raw;
  format::EncodedBlock encoded;
  for (std::size_t i = 0; i < spec.records.size(); ++i) {
    const ByteView record = as_bytes(spec.records[i]);
    fingerprint.add(record);
    raw.append(record);
    const bool run_ends = !spec.blocks_cross_runs && (i + 1) % spec.run_records == 0;
    if (run_ends || raw.records() == spec.block_records || i + 1 == spec.records.size()) {
      format::encode_block(raw, spec.codec, encoded);
      encoder.add(encoded, shard.bytes).value();
      raw.clear();
    }
  }
  shard.info = encoder.finish(spec.run_records, fingerprint.value(), shard.bytes);
  return shard;
}

format::EncodedBlock encode_records(const Records& records, Codec codec) {
  format::RawBlock raw;
  for (const std::string& record : records) raw.append(as_bytes(record));
  format::EncodedBlock block;
  format::encode_block(raw, codec, block);
  return block;
}

ShardInfo write_shard(const std::string& folder, const std::string& name, const ShardSpec& spec) {
  SampleShard shard = make_shard(spec);
  write_file(folder + "/" + name, as_chars(shard.bytes));
  shard.info.name = name;
  return shard.info;
}

void write_manifest(const std::string& path, const std::vector<ShardInfo>& shards, const DatasetId& dataset_id) {
  ShardSpec manifest{.shard_number = format::kManifestShardNumber,
                     .dataset_id = dataset_id,
                     .metadata = {format::kManifestRecordType, "sample", {}}};
  for (const ShardInfo& shard : shards) manifest.records.push_back(format::encode(shard));
  write_file(path, as_chars(make_shard(manifest).bytes));
}

std::vector<ShardInfo> write_dataset(const std::string& folder, std::uint32_t shards, std::size_t records) {
  std::vector<ShardInfo> infos;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const ShardSpec spec{.records = numbered_records(records, std::to_string(shard) + "/"),
                         .run_records = 6,
                         .block_records = 3,
                         .shard_number = shard};
    infos.push_back(write_shard(folder, "shard-" + std::to_string(shard) + ".dvt", spec));
  }
  write_manifest(folder + "/manifest.dvt", infos);
  return infos;
}

}  // namespace dovetail::test
