// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <new>
#include <utility>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "convert/parts.h"
#include "convert/record_split.h"
#include "convert/shard_tally.h"
#include "format/layout.h"
#include "format/try.h"
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
  DOVETAIL_ASSIGN(auto folder, OutputFolder::open(path));
  for (std::size_t shard = 0; shard != info.shards.size(); ++shard) {
    DOVETAIL_ASSIGN(auto found, finished_shard(*folder, static_cast<std::uint32_t>(shard), info.id));
    if (!found || *found != info.shards[shard]) return std::nullopt;
  }
  return info;
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

// What all parts say that they were merged into, or nothing where one does not, or says otherwise.
Result<std::optional<Facts>> merged_facts(const std::string& target, const std::vector<ConvertPart>& parts) {
  std::optional<Facts> all;
  for (const ConvertPart& part : parts) {
    DOVETAIL_ASSIGN(auto work, WorkFolder::visit(target, part));
    DOVETAIL_ASSIGN(auto facts, work.merged());
    if (!facts || (all && all->difference_from(*facts, Facts::kLocal))) return std::nullopt;
    all = std::move(facts);
  }
  return all;
}

// Folders of the datasets below the target; the target itself where there was no split.
std::vector<std::string> names_of_outputs(const Facts& facts) {
  std::vector<std::string> names;
  for (;;) {
    const std::string& name = facts["split." + std::to_string(names.size())];
    if (name.empty()) break;
    names.push_back(name);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

bool is_of(const DatasetInfo& dataset, const Facts& facts) {
  return dataset.id.to_hex() == facts["dataset_id"] && std::to_string(dataset.shards.size()) == facts["shards"];
}

}  // namespace

Result<std::optional<ConvertReport>> merged_earlier(const std::string& target, const std::vector<ConvertPart>& parts) {
  DOVETAIL_ASSIGN(const auto facts, merged_facts(target, parts));
  if (!facts) return std::nullopt;
  ConvertReport report;
  for (const std::string& name : names_of_outputs(*facts)) {
    if (!name.empty() && !is_folder_name(name)) return std::nullopt;
    DOVETAIL_ASSIGN(auto dataset,
                    whole_dataset(name.empty() ? target : (std::filesystem::path(target) / name).native()));
    if (!dataset || !is_of(*dataset, *facts)) return std::nullopt;
    add(std::move(*dataset), report);
  }
  return report;
}

void remove_parts(const std::string& target, const std::vector<ConvertPart>& parts, WorkFolder& first) noexcept {
  for (std::size_t part = parts.size(); part > 1; --part) {
    try {
      if (auto work = WorkFolder::visit(target, parts[part - 1])) work->remove();
    } catch (const std::bad_alloc&) {
      return;  // the next merging or conversion here removes them
    }
  }
  first.remove();
}

}  // namespace dovetail::detail
