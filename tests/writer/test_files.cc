// SPDX-License-Identifier: Apache-2.0
#include "tests/writer/test_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "format/layout.h"
#include "format/messages.h"

namespace dovetail::test {

namespace fs = std::filesystem;

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  Bytes bytes(fs::file_size(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot read all of " + path);
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  // Truncating instead would make some file systems write the new bytes to the disk at once.
  fs::remove(path);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

DecodedShard read_shard_file(const std::string& path) {
  const Bytes bytes = read_file(path);
  auto shard = format::test::read_shard(bytes);
  if (!shard) throw Exception(shard.error().in_file(path));
  return std::move(*shard);
}

DecodedDataset read_dataset(const std::string& folder) {
  DecodedDataset dataset;
  const DecodedShard manifest = read_shard_file(folder + '/' + format::kManifestName);
  if (manifest.metadata.record_type != format::kManifestRecordType) throw std::runtime_error("not a manifest");
  dataset.id = manifest.header.dataset_id;
  for (const std::string& record : manifest.records) {
    const ShardInfo info = format::decode_shard_info(as_bytes(record)).value();
    DecodedShard shard = read_shard_file(folder + '/' + info.name);
    ShardInfo footer = shard.tail.footer.info;
    footer.name = info.name;
    if (footer != info) throw std::runtime_error(info.name + " is not what its manifest says");
    if (shard.header.dataset_id != dataset.id || shard.header.shard_number != dataset.infos.size()) {
      throw std::runtime_error(info.name + " belongs elsewhere");
    }
    dataset.infos.push_back(info);
    dataset.records.insert(dataset.records.end(), shard.records.begin(), shard.records.end());
    dataset.shards.push_back(std::move(shard));
  }
  return dataset;
}

Records sample_records(std::size_t count, std::size_t most, std::uint64_t seed) {
  Draws draws(seed);
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = draws.below(8) == 0 ? 0 : draws.below(most + 1);
    records.push_back(draws.below(2) == 0 ? noise(size, draws.next()) : prose(size, draws.next()));
  }
  return records;
}

}  // namespace dovetail::test
