// SPDX-License-Identifier: Apache-2.0
#include "convert/shard_tally.h"

#include <algorithm>
#include <utility>

#include <dovetail/record_reader.h>

#include "format/try.h"
#include "writer/dataset_files.h"

namespace dovetail::detail {

Result<std::optional<ShardInfo>> finished_shard(const OutputFolder& folder, std::uint32_t shard,
                                                const DatasetId& dataset_id) {
  const std::string name = shard_name(shard);
  DOVETAIL_ASSIGN(auto there, folder.contains(name));
  if (!there) return std::nullopt;
  auto described = describe_shard(folder.path_of(name));
  if (!described) {
    if (described.error().kind() == ErrorKind::damaged) return std::nullopt;
    return described.error();
  }
  if (described->dataset_id != dataset_id || described->shard_number != shard) return std::nullopt;
  described->info.name = name;
  return std::move(described->info);
}

ShardTally::ShardTally(std::size_t outputs, std::uint32_t begin, std::uint32_t end)
    : begin_(begin), end_(end), infos_(outputs, std::vector<std::optional<ShardInfo>>(end - begin)) {}

Result<void> ShardTally::find(std::size_t output, const OutputFolder& folder, const DatasetId& dataset_id) {
  for (std::uint32_t shard = begin_; shard != end_; ++shard) {
    DOVETAIL_ASSIGN(auto found, finished_shard(folder, shard, dataset_id));
    if (found) add(output, std::move(*found), shard);
  }
  return {};
}

void ShardTally::add(std::size_t output, ShardInfo info, std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  infos_[output][shard - begin_] = std::move(info);
}

bool ShardTally::has_locked(std::uint32_t shard) const {
  return std::all_of(infos_.begin(), infos_.end(),
                     [&](const auto& infos) { return infos[shard - begin_].has_value(); });
}

bool ShardTally::has(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  return has_locked(shard);
}

std::uint32_t ShardTally::finished() const {
  const std::lock_guard lock(mutex_);
  std::uint32_t count = 0;
  for (std::uint32_t shard = begin_; shard != end_; ++shard) count += has_locked(shard) ? 1 : 0;
  return count;
}

std::vector<ShardInfo> ShardTally::infos(std::size_t output) const {
  const std::lock_guard lock(mutex_);
  std::vector<ShardInfo> infos;
  infos.reserve(infos_[output].size());
  for (const std::optional<ShardInfo>& info : infos_[output]) infos.push_back(*info);
  return infos;
}

}  // namespace dovetail::detail
