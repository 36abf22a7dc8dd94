// SPDX-License-Identifier: Apache-2.0
#include "inspect/inspection.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "format/try.h"
#include "inspect/open_input.h"

namespace dovetail::inspect {

namespace {

Result<void> inspect_shards(const Dataset& dataset, const OnProgress& on_progress, Inspection& inspection) {
  inspection.fingerprint = dataset.fingerprint().to_hex();
  inspection.has_manifest = dataset.has_manifest();
  const std::size_t shards = dataset.shards().size();
  for (std::uint32_t i = 0; i < shards; ++i) {
    DOVETAIL_TRY(
        go_on(on_progress, {"inspecting", inspection.records, inspection.raw_bytes, share_of_work(i, shards)}));
    DOVETAIL_ASSIGN(ShardDescription shard, describe_shard_of(dataset, i));
    inspection.add(shard);
    if (shard.tfrecord) inspection.format = "tfrecord, indexed";
    inspection.shards.push_back(std::move(shard));
  }
  return {};
}

Result<void> describe_all(const Dataset& dataset, const OnProgress& on_progress, Inspection& inspection) {
  bool cancelled = false;
  FeatureOptions options;
  options.cancelled = [&] { return cancelled; };
  options.progress = [&](std::uint64_t records, std::uint64_t bytes) {
    cancelled = !go_on(on_progress, {"describing", records, bytes, share_of_work(bytes, dataset.raw_bytes())});
  };
  DOVETAIL_ASSIGN(inspection.features, describe_features(dataset, options));
  return {};
}

Result<void> inspect_dataset(const Dataset& dataset, const InspectOptions& options, Inspection& inspection) {
  DOVETAIL_TRY(inspect_shards(dataset, options.progress, inspection));
  DOVETAIL_ASSIGN(inspection.survey, survey(dataset, inspection.shards, options.full, options.progress));
  return options.features ? describe_all(dataset, options.progress, inspection) : Result<void>();
}

/// `now` is what the source reports while it looks for the next record.
Result<void> inspect_source(RecordSource& source, const InspectOptions& options, Progress& now,
                            Inspection& inspection) {
  inspection.format = to_string(source.format());
  inspection.foreign = true;
  inspection.files = source.files();
  inspection.left_out = source.left_out();
  inspection.stored_bytes = source.input_bytes();
  PayloadSampler sampler;
  FeatureCollector features;
  for (;;) {
    DOVETAIL_ASSIGN(const std::optional<ByteView> record, source.next());
    inspection.compression = to_string(source.compression());
    if (!record) break;
    const std::uint64_t bytes = record->size();
    if (options.features) features.add(inspection.records, *record);
    inspection.add_records(1, bytes, bytes);
    inspection.raw_bytes += bytes;
    inspection.survey.sizes.add(bytes);
    sampler.add(*record);
    now = {"inspecting", inspection.records, inspection.raw_bytes,
           share_of_work(source.consumed_bytes(), source.input_bytes())};
    DOVETAIL_TRY(go_on(options.progress, now));
  }
  inspection.survey.payloads = sampler.counts();
  if (options.features) inspection.features = features.report();
  return {};
}

}  // namespace

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

Result<Inspection> inspect_path(const std::string& path, const InspectOptions& options) {
  Inspection inspection;
  inspection.path = path;
  Progress now{.work = "inspecting"};
  Result<Input> input = open_input(path, options.from, [&] { return !go_on(options.progress, now); });
  Result<void> read;
  if (!input) {
    read = input.error();
  } else if (RecordSource* source = std::get_if<RecordSource>(&*input)) {
    read = inspect_source(*source, options, now, inspection);
  } else {
    read = inspect_dataset(std::get<Dataset>(*input), options, inspection);
  }
  if (read) return inspection;
  if (!read.error().is(Errc::unfinished)) return read.error();
  inspection.unfinished = read.error();
  return inspection;
}

std::string version_text(const ShardDescription& shard) {
  return std::to_string(shard.version_major) + '.' + std::to_string(shard.version_minor);
}

}  // namespace dovetail::inspect
