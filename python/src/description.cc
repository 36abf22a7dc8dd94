// SPDX-License-Identifier: Apache-2.0
// Descriptions of shards and datasets.
#include "python/src/bindings.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <dovetail/record_reader.h>
#include <pybind11/stl.h>

#include "format/example/example_wire.h"
#include "format/try.h"
#include "inspect/inspection.h"
#include "python/src/arguments.h"
#include "python/src/gil.h"
#include "python/src/interruptible.h"
#include "python/src/option_table.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// The number of records whose features are read.
constexpr int kLookedAt = 64;
constexpr std::size_t kMostFeatures = 256;

/// Adds the facts that all shards of a dataset share, taken from one shard.
void add_common(const ShardDescription& shard, py::dict& dict) {
  dict["version"] = py::make_tuple(shard.version_major, shard.version_minor);
  dict["dataset_id"] = shard.dataset_id.to_hex();
  dict["record_type"] = message_text(shard.record_type);
  dict["writer"] = message_text(shard.writer);
  py::dict metadata;
  for (const auto& [name, text] : shard.metadata) metadata[message_text(name)] = message_text(text);
  dict["metadata"] = metadata;
  dict["schema"] = shard.schema.empty() ? py::object(py::none()) : py::object(message_text(shard.schema));
}

py::dict describe(const py::object& path_given) {
  const std::filesystem::path path = to_path("path", path_given);
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    throw Exception(Error(Errc::invalid_option, "a folder is not a shard; Dataset(path).describe() describes a dataset")
                        .in_file(path.string()));
  }
  const ShardDescription shard = [&] {
    const Unlocked unlocked;
    return describe_shard(path.string()).value();
  }();
  py::dict dict;
  dict["info"] = shard.info;
  dict["tfrecord"] = shard.tfrecord;
  dict["shard_number"] = shard.shard_number;
  add_common(shard, dict);
  return dict;
}

/// The facts that are collected without the interpreter lock.
struct Found {
  inspect::ShardSums sums;
  std::optional<ShardDescription> first;
  std::map<std::string, format::FeatureKind, std::less<>> features;
};

/// Records that are not Examples have no features. Records after a damaged block are skipped.
Result<void> find_features(const Dataset& dataset, Found& found) {
  format::ExampleFeatures features;
  int left = kLookedAt;
  for (std::uint32_t i = 0; i < dataset.shards().size() && left > 0; ++i) {
    if (dataset.shards()[i].records == 0) continue;
    DOVETAIL_ASSIGN(auto reader, RecordReader::open(dataset, i));
    for (; left > 0; --left) {
      const Result<std::optional<ByteView>> record = reader.next();
      if (!record.has_value() && record.error().kind() == ErrorKind::damaged) return {};
      if (!record.has_value()) return record.error();
      if (!record->has_value()) break;
      if (!features.parse(**record).has_value()) continue;
      for (const format::FeatureView& feature : features.all()) {
        const auto known = found.features.find(feature.name);
        if (known == found.features.end()) {
          if (found.features.size() < kMostFeatures) found.features.emplace(feature.name, feature.kind);
        } else if (known->second == format::FeatureKind::none) {
          known->second = feature.kind;
        }
      }
    }
  }
  return {};
}

Result<Found> look_at(const Dataset& dataset, const std::atomic<bool>& cancel) {
  Found found;
  for (std::uint32_t i = 0; i < dataset.shards().size() && !cancel; ++i) {
    DOVETAIL_ASSIGN(auto shard, inspect::describe_shard_of(dataset, i));
    found.sums.add(shard);
    shard.blocks.clear();
    if (!found.first.has_value()) found.first = std::move(shard);
  }
  DOVETAIL_TRY(find_features(dataset, found));
  return found;
}

}  // namespace

py::object describe_dataset(const Dataset& dataset) {
  const Found found = run_interruptibly([&](const std::atomic<bool>& cancel) { return look_at(dataset, cancel); });
  py::dict dict;
  dict["path"] = path_text(dataset.path());
  dict["tfrecord"] = found.first.has_value() && found.first->tfrecord;
  dict["records"] = dataset.records();
  dict["blocks"] = found.sums.blocks;
  dict["raw_bytes"] = dataset.raw_bytes();
  dict["stored_bytes"] = found.sums.stored_bytes;
  dict["file_bytes"] = found.sums.file_bytes;
  dict["min_record_bytes"] = found.sums.min_record_bytes;
  dict["max_record_bytes"] = found.sums.max_record_bytes;
  py::dict codecs;
  const auto add_codec = [&codecs](Codec codec, const inspect::ShardSums::CodecShare& share) {
    if (share.blocks > 0) codecs[py::str(std::string(to_string(codec)))] = share.blocks;
  };
  add_codec(Codec::none, found.sums.plain);
  add_codec(Codec::snappy, found.sums.snappy);
  add_codec(Codec::zstd, found.sums.zstd);
  dict["codecs"] = codecs;
  add_common(found.first.value_or(ShardDescription()), dict);
  dict["fingerprint"] = dataset.fingerprint().to_hex();
  dict["has_manifest"] = dataset.has_manifest();
  py::dict features;
  for (const auto& [name, kind] : found.features) features[message_text(name)] = format::to_text(kind);
  dict["features"] = features;
  py::list shards;
  for (const ShardInfo& shard : dataset.shards()) shards.append(shard);
  dict["shards"] = py::tuple(shards);
  return make_object("dovetail._reports", "DatasetDescription", dict);
}

void bind_description(py::module_& module) {
  module.def(
      "describe", describe, py::arg("path"),
      R"(What a shard says of itself, as a dict: info (a `ShardInfo`), version, dataset_id, record_type, metadata, schema.
Of texts that are not UTF-8, which other writers may have left, the bytes that are not become \xNN.
`Dataset.describe` is of a dataset.

Raises:
    MissingFileError, StorageError, DamagedError: with file and offset.
    UsageError: for a folder, and for a file of another kind.)");
}

}  // namespace dovetail::python
