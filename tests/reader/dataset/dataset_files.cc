// SPDX-License-Identifier: Apache-2.0
#include "tests/reader/dataset/dataset_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <dovetail/bytes.h>

#include "format/block_encoder.h"
#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/layout.h"
#include "format/messages.h"
#include "format/shard_encoder.h"

namespace dovetail::test {

namespace fs = std::filesystem;

void write_file(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.exceptions(std::ios::failbit | std::ios::badbit);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

DatasetId sample_dataset_id() {
  DatasetId id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(0x11 * i);
  return id;
}

Records numbered_records(std::size_t count, const std::string& prefix) {
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    records.push_back(i == 0 ? "" : prefix + " " + std::to_string(i) + std::string(i % 7, '.'));
  }
  return records;
}

SampleShard make_shard(const ShardSpec& spec) {
  std::vector<std::byte> bytes;
  format::ShardEncoder encoder(spec.dataset_id, spec.shard_number);
  encoder.begin({spec.record_type, "test", {{"colour", "blue"}}}, bytes).value();
  format::RecordFingerprint fingerprint;
  format::RawBlock raw;
  format::EncodedBlock encoded;
  const auto flush = [&] {
    if (raw.empty()) return;
    format::encode_block(raw, spec.codec, encoded);
    encoder.add(encoded, bytes).value();
    raw.clear();
  };
  for (const std::string& record : spec.records) {
    fingerprint.add(as_bytes(record));
    raw.append(as_bytes(record));
    if (raw.records() == spec.block_records) flush();
  }
  flush();
  SampleShard shard;
  shard.info = encoder.finish(spec.run_records, fingerprint.value(), bytes);
  shard.bytes = as_chars(bytes);
  return shard;
}

ShardInfo write_shard(const std::string& folder, const std::string& name, const ShardSpec& spec) {
  SampleShard shard = make_shard(spec);
  write_file(folder + "/" + name, shard.bytes);
  shard.info.name = name;
  return shard.info;
}

void write_manifest(const std::string& path, const std::vector<ShardInfo>& shards, const DatasetId& dataset_id) {
  ShardSpec manifest;
  for (const ShardInfo& shard : shards) manifest.records.push_back(format::encode(shard));
  manifest.shard_number = 0xFFFFFFFFu;
  manifest.dataset_id = dataset_id;
  manifest.record_type = format::kManifestRecordType;
  write_file(path, make_shard(manifest).bytes);
}

std::vector<ShardInfo> write_dataset(const std::string& folder, std::uint32_t shards, std::size_t records) {
  std::vector<ShardInfo> infos;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    ShardSpec spec{.records = numbered_records(records, std::to_string(shard) + "/"), .shard_number = shard};
    infos.push_back(write_shard(folder, "shard-" + std::to_string(shard) + ".dvt", spec));
  }
  write_manifest(folder + "/manifest.dvt", infos);
  return infos;
}

std::string begun_tfrecord() {
  std::string file(8, '\0');
  file[0] = 3;
  std::byte masked[4];
  format::store_le(masked, format::mask_crc(format::crc32c(as_bytes(file))));
  file += as_chars(masked);
  return file + "abc????";
}

Records read_records(RecordReader& reader) {
  Records records;
  while (true) {
    auto record = reader.next();
    if (!record || !*record) return records;
    records.emplace_back(as_chars(**record));
  }
}

}  // namespace dovetail::test
