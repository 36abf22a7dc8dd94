// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <utility>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "convert/parts.h"
#include "convert/shard_tally.h"
#include "format/layout.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

namespace {

// The dataset of a folder, or nothing where there is none, or not all of it.
Result<std::optional<DatasetInfo>> whole_dataset(const std::string& path) {
  DatasetInfo info;
  info.manifest = (std::filesystem::path(path) / format::kManifestName).native();
  const auto manifest = describe_shard(info.manifest);
  const auto dataset = Dataset::open(info.manifest);
  if (!manifest || !dataset || !dataset->has_manifest()) return std::nullopt;
  info.id = manifest->dataset_id;
  info.shards.assign(dataset->shards().begin(), dataset->shards().end());
  auto folder = OutputFolder::open(path);
  if (!folder) return folder.error();
  for (std::size_t shard = 0; shard != info.shards.size(); ++shard) {
    auto found = finished_shard(**folder, static_cast<std::uint32_t>(shard), info.id);
    if (!found) return found.error();
    if (!*found || **found != info.shards[shard]) return std::nullopt;
  }
  return info;
}

// Whether the dataset holds what a part has made for it.
bool holds(const DatasetInfo& dataset, const WholePart& part, std::size_t output, const ConvertPart& number) {
  if (part.dataset_id != dataset.id || output >= part.shards.size()) return false;
  const std::vector<ShardInfo>& made = part.shards[output];
  const auto all = static_cast<std::uint32_t>(dataset.shards.size());
  const std::uint32_t begin = first_shard_of(number.number, number.parts, all);
  return made.size() == first_shard_of(number.number + 1, number.parts, all) - begin &&
         std::equal(made.begin(), made.end(), dataset.shards.begin() + begin);
}

void add(DatasetInfo dataset, ConvertReport& report) {
  report.shards = static_cast<std::uint32_t>(dataset.shards.size());
  for (const ShardInfo& info : dataset.shards) {
    report.records += info.records;
    report.raw_bytes += info.raw_bytes;
    report.stored_bytes += info.stored_bytes;
  }
  report.datasets.push_back(std::move(dataset));
}

// Folders of the datasets below the target. Without a whole part it is the target itself: no facts, no split.
std::vector<std::string> names_of_outputs(const std::vector<std::optional<WholePart>>& contents) {
  const auto whole = std::find_if(contents.begin(), contents.end(), [](const auto& part) { return part.has_value(); });
  if (whole == contents.end()) return {std::string()};
  std::vector<std::string> names;
  for (std::size_t i = 0; i != (*whole)->shards.size(); ++i) {
    names.push_back((*whole)->facts["split." + std::to_string(i)]);
  }
  return names;
}

}  // namespace

Result<std::optional<ConvertReport>> finish_removal(const std::string& target, std::vector<WorkFolder>& parts,
                                                    const std::vector<std::optional<WholePart>>& contents) {
  for (std::size_t part = 0; part != parts.size(); ++part) {
    if (contents[part]) continue;
    auto bare = parts[part].is_bare();
    if (!bare) return bare.error();
    if (!*bare) return std::nullopt;
  }
  ConvertReport report;
  for (const std::string& name : names_of_outputs(contents)) {
    auto dataset = whole_dataset(name.empty() ? target : (std::filesystem::path(target) / name).native());
    if (!dataset) return dataset.error();
    if (!*dataset) return std::nullopt;
    for (std::size_t part = 0; part != parts.size(); ++part) {
      const std::optional<WholePart>& content = contents[part];
      if (content && !holds(**dataset, *content, report.datasets.size(), parts[part].part())) return std::nullopt;
    }
    add(std::move(**dataset), report);
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) part->remove();
  return report;
}

}  // namespace dovetail::detail
