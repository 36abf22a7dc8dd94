// SPDX-License-Identifier: Apache-2.0
// Reads a manifest. What is accepted names only files inside its folder, and makes a dataset whose
// ids are all found.
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include <dovetail/dataset.h>

#include "fuzz/support.h"
#include "reader/dataset/manifest.h"

namespace dovetail::fuzz {
namespace {

void check_ids(const Dataset& dataset) {
  std::uint64_t records = 0;
  for (const ShardInfo& info : dataset.shards()) records += info.records;
  require(records == dataset.records(), "ids are the records of all shards");
  if (records == 0) return;
  for (const std::uint64_t id : {std::uint64_t{0}, records / 2, records - 1}) {
    const Dataset::Place place = dataset.locate(id);
    require(place.shard < dataset.shards().size(), "an id lies in a shard");
    require(place.record < dataset.shards()[place.shard].records, "an id is a record of its shard");
  }
}

void judge(ByteView bytes) {
  const MemoryFile file(bytes);
  const MemoryLimit limit(memory_for(bytes.size()));
  const auto inside = detail::read_manifest(file.path(), false);
  const auto anywhere = detail::read_manifest(file.path(), true);
  require(!inside || anywhere, "what is inside is also allowed anywhere");
  if (inside) {
    for (const ShardInfo& info : *inside) {
      const std::filesystem::path name = std::filesystem::path(info.name).lexically_normal();
      require(!info.name.empty() && !name.is_absolute() && *name.begin() != "..", "a name lies in the folder");
    }
  }
  const auto dataset = Dataset::open(file.path(), {.threads = 1});
  if (dataset) check_ids(*dataset);
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge(std::as_bytes(std::span(data, size)));
  return 0;
}
