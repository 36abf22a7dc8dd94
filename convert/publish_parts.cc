// SPDX-License-Identifier: Apache-2.0
#include "convert/publish_parts.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "format/layout.h"
#include "format/try.h"
#include "writer/dataset_files.h"
#include "writer/target.h"

namespace dovetail::detail {

namespace {

std::string path_below(const std::string& folder, const std::string& name) {
  return name.empty() ? folder : folder + '/' + name;
}

Error not_of_dataset(const std::string& path) {
  return Error(Errc::already_exists, "it does not belong to the dataset that replaces this folder; move it elsewhere")
      .in_file(path);
}

// Removes partial files of killed writers, and shards of an earlier conversion that made more
// shards.
Result<void> remove_other_files(const OutputFolder& folder, const std::set<std::string_view>& shards) {
  DOVETAIL_ASSIGN(const auto names, dataset_names(folder));
  if (!names.foreign.empty()) return not_of_dataset(names.foreign);
  for (const std::string& name : names.files) {
    if (shards.contains(name)) continue;
    DOVETAIL_TRY(folder.remove(name));
  }
  return {};
}

// Removes the datasets of an earlier conversion with another split, and their files.
Result<void> remove_others(const OutputFolder& staged, const std::vector<std::string>& outputs) {
  DOVETAIL_ASSIGN(const auto names, dataset_names(staged));
  if (!names.foreign.empty()) return not_of_dataset(names.foreign);
  for (const std::string& name : names.folders) {
    if (std::find(outputs.begin(), outputs.end(), name) != outputs.end()) continue;
    DOVETAIL_ASSIGN(const auto folder, staged.open_below(name));
    DOVETAIL_TRY(remove_other_files(*folder, {}));
    DOVETAIL_TRY(staged.remove_folder(name));
  }
  return outputs.front().empty() ? Result<void>() : remove_other_files(staged, {});
}

// Some shard may have been removed since its part was finished.
Result<void> check_shards(const OutputFolder& folder, const std::vector<ShardInfo>& shards) {
  std::set<std::string_view> wanted;
  DOVETAIL_ASSIGN(const auto names, folder.names());
  const std::set<std::string_view> there(names.begin(), names.end());
  for (std::size_t shard = 0; shard != shards.size(); ++shard) {
    if (shard_number_of(shards[shard].name) != shard) {
      return Error(Errc::manifest_mismatch, "shard " + std::to_string(shard) + " is missing from the parts")
          .in_file(folder.path());
    }
    if (!there.contains(shards[shard].name)) {
      return Error(Errc::unfinished, "the shard is missing; convert the part again")
          .in_file(folder.path_of(shards[shard].name));
    }
    wanted.insert(shards[shard].name);
  }
  return remove_other_files(folder, wanted);
}

// Completes a dataset with its manifest, durably.
Result<DatasetInfo> complete_dataset(const std::shared_ptr<OutputFolder>& folder, const std::vector<WholePart>& parts,
                                     std::size_t dataset) {
  DatasetInfo info{.manifest = {}, .id = parts.front().dataset_id, .shards = {}};
  for (const WholePart& part : parts) {
    info.shards.insert(info.shards.end(), part.shards[dataset].begin(), part.shards[dataset].end());
  }
  DOVETAIL_TRY(check_shards(*folder, info.shards));
  const Codec codec = parts.front().spec["codec"] == "none" ? Codec::none : Codec::snappy;
  DOVETAIL_TRY(write_manifest(folder, info.id, codec, info.shards));
  DOVETAIL_TRY(folder->sync());
  return info;
}

}  // namespace

void add_shards(const std::vector<ShardInfo>& shards, ConvertReport& report) {
  for (const ShardInfo& info : shards) {
    report.records += info.records;
    report.raw_bytes += info.raw_bytes;
    report.stored_bytes += info.stored_bytes;
  }
}

Result<ConvertReport> publish_parts(Staging& staging, const std::vector<WholePart>& parts, bool overwrite) {
  ConvertReport report;
  for (const WholePart& part : parts) {
    for (const std::vector<ShardInfo>& shards : part.shards) add_shards(shards, report);
    report.shards += static_cast<std::uint32_t>(part.shards.front().size());
  }
  if (report.records == 0) return Error(Errc::empty_input, "no record in any part").in_file(staging.folder()->path());
  std::vector<std::string> outputs = names_of_outputs(parts.front().spec);
  outputs.resize(parts.front().shards.size());
  const Overwrite replaced(overwrite, outputs);
  DOVETAIL_TRY(check_target(staging.target(), replaced));
  DOVETAIL_TRY(remove_others(*staging.folder(), outputs));
  for (std::size_t i = 0; i != outputs.size(); ++i) {
    DOVETAIL_ASSIGN(auto folder, staging.output(outputs[i]));
    DOVETAIL_ASSIGN(auto info, complete_dataset(folder, parts, i));
    info.manifest = path_below(path_below(staging.target(), outputs[i]), format::kManifestName);
    report.datasets.push_back(std::move(info));
  }
  auto published = staging.publish(replaced);
  if (published) return report;
  for (const std::string& name : outputs) {  // staged folders must not look like datasets
    const auto folder =
        staging.is_published() ? Result<std::shared_ptr<OutputFolder>>(published.error()) : staging.output(name);
    if (folder) (void)(*folder)->remove(format::kManifestName);
  }
  return published.error();
}

Result<ConvertReport> published_report(const std::string& target, const std::vector<std::string>& outputs) {
  ConvertReport report;
  for (const std::string& name : outputs) {
    DatasetInfo info;
    info.manifest = path_below(path_below(target, name), format::kManifestName);
    DOVETAIL_ASSIGN(const auto manifest, describe_shard(info.manifest));
    DOVETAIL_ASSIGN(const auto dataset, Dataset::open(info.manifest));
    info.id = manifest.dataset_id;
    info.shards.assign(dataset.shards().begin(), dataset.shards().end());
    add_shards(info.shards, report);
    report.shards = static_cast<std::uint32_t>(info.shards.size());
    report.datasets.push_back(std::move(info));
  }
  return report;
}

}  // namespace dovetail::detail
