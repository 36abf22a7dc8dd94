// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspection.h"

#include <algorithm>
#include <utility>

#include "tools/command/progress.h"

namespace dovetail::tools {

namespace {

void add_record_sizes(Inspection& inspection, bool first, std::uint64_t least, std::uint64_t most) {
  inspection.min_record_bytes = first ? least : std::min(inspection.min_record_bytes, least);
  inspection.max_record_bytes = std::max(inspection.max_record_bytes, most);
}

void add_shard(Inspection& inspection, ShardDescription shard) {
  const ShardInfo& info = shard.info;
  if (info.records > 0) {
    add_record_sizes(inspection, inspection.records == 0, info.min_record_bytes, info.max_record_bytes);
  }
  inspection.records += info.records;
  inspection.blocks += info.blocks;
  inspection.raw_bytes += info.raw_bytes;
  inspection.stored_bytes += info.stored_bytes;
  for (const BlockInfo& block : shard.blocks) {
    Inspection::CodecShare* const shares[] = {&inspection.plain, &inspection.snappy, &inspection.zstd};
    Inspection::CodecShare& share = *shares[static_cast<std::size_t>(block.codec)];
    ++share.blocks;
    share.raw_bytes += block.raw_bytes;
    share.stored_bytes += block.stored_bytes;
  }
  if (shard.tfrecord) inspection.format = "tfrecord, indexed";
  inspection.shards.push_back(std::move(shard));
}

Result<void> inspect_shards(const Dataset& dataset, Inspection& inspection) {
  inspection.fingerprint = dataset.fingerprint().to_hex();
  inspection.has_manifest = dataset.has_manifest();
  Progress progress("inspecting");
  for (std::uint32_t i = 0; i < dataset.shards().size(); ++i) {
    Result<ShardDescription> shard = describe_shard(dataset.shard_path(i));
    if (!shard) return shard.error();
    shard->info.name = dataset.shards()[i].name;
    if (shard->info != dataset.shards()[i]) {
      return Error(Errc::manifest_mismatch, "the shard is not the one that the manifest lists")
          .in_file(dataset.shard_path(i));
    }
    add_shard(inspection, std::move(*shard));
    progress.update(inspection.records, inspection.raw_bytes,
                    static_cast<double>(i) / static_cast<double>(dataset.shards().size()));
  }
  return {};
}

Result<void> describe_all(const Dataset& dataset, Inspection& inspection) {
  Progress progress("describing");
  FeatureOptions options;
  options.progress = [&](std::uint64_t records, std::uint64_t bytes) {
    const auto all = static_cast<double>(std::max<std::uint64_t>(dataset.raw_bytes(), 1));
    progress.update(records, bytes, static_cast<double>(bytes) / all);
  };
  Result<FeaturesReport> report = describe_features(dataset, options);
  if (!report) return report.error();
  inspection.features = std::move(*report);
  return {};
}

Result<void> inspect_dataset(const Dataset& dataset, const InspectOptions& options, Inspection& inspection) {
  if (Result<void> read = inspect_shards(dataset, inspection); !read) return read;
  Result<RecordSurvey> found = survey(dataset, inspection.shards, options.full);
  if (!found) return found.error();
  inspection.survey = *found;
  return options.features ? describe_all(dataset, inspection) : Result<void>();
}

Result<void> inspect_source(RecordSource& source, const InspectOptions& options, Inspection& inspection) {
  inspection.format = to_string(source.format());
  inspection.foreign = true;
  inspection.files = source.files();
  inspection.stored_bytes = source.input_bytes();
  Progress progress("inspecting");
  PayloadSampler sampler;
  FeatureCollector features;
  for (;;) {
    const Result<std::optional<ByteView>> record = source.next();
    if (!record) return record.error();
    inspection.compression = to_string(source.compression());
    if (!record->has_value()) break;
    const std::uint64_t bytes = (*record)->size();
    add_record_sizes(inspection, inspection.records == 0, bytes, bytes);
    if (options.features) features.add(inspection.records, **record);
    ++inspection.records;
    inspection.raw_bytes += bytes;
    inspection.survey.sizes.add(bytes);
    sampler.add(**record);
    progress.update(inspection.records, inspection.raw_bytes,
                    static_cast<double>(source.consumed_bytes()) / static_cast<double>(source.input_bytes()));
  }
  inspection.survey.payloads = sampler.counts();
  if (options.features) inspection.features = features.report();
  return {};
}

}  // namespace

Result<Inspection> inspect(const std::string& path, const InspectOptions& options, std::optional<Error>& unfinished) {
  Inspection inspection;
  inspection.path = path;
  Result<Input> input = open_input(path, options.from);
  Result<void> read;
  if (!input) {
    read = input.error();
  } else if (RecordSource* source = std::get_if<RecordSource>(&*input)) {
    read = inspect_source(*source, options, inspection);
  } else {
    read = inspect_dataset(std::get<Dataset>(*input), options, inspection);
  }
  if (read) return inspection;
  if (!read.error().is(Errc::unfinished)) return read.error();
  inspection.finished = false;
  unfinished = read.error();
  return inspection;
}

}  // namespace dovetail::tools
