// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "writer/output_folder.h"
#include "writer/shard_output.h"

namespace dovetail::detail {

/// Name of a shard file in a dataset's folder: `shard-NNNNNN.dvt`.
std::string shard_name(std::uint32_t number);
/// The number in such a name.
std::optional<std::uint32_t> shard_number_of(std::string_view name);

/// Errors: `already_exists` naming a manifest or shard that is in the way; as `check_none_hidden`.
Result<void> check_vacant(const OutputFolder& folder);

/// Of the names in a folder: shards of other names and indexes of TFRecords are found only while there is no manifest.
/// Errors: `already_exists` naming such a file.
Result<void> check_none_hidden(const OutputFolder& folder, const std::vector<std::string>& names);

/// Writes the manifest of finished shards; it is synced and not published.
Result<OutputFile> write_manifest(std::shared_ptr<const OutputFolder> folder, const DatasetId& dataset_id, Codec codec,
                                  const std::vector<ShardInfo>& shards);

/// Removes the shards of an older dataset that are numbered from `shards` on.
Result<void> remove_surplus(const OutputFolder& folder, std::size_t shards);

/// Gives the shards and then the manifest their names, durably.
///
/// With `overwrite` an old dataset goes first: its manifest, and at the end the shards beyond the new ones. From then
/// until the new manifest is there the folder has none, so that old and new are never taken for one dataset.
/// Errors: after one, no file of the new dataset is there. But where shards of an old one may be replaced already, all are left
///         under the names that they have, as a killed process leaves them: the manifest's partial name tells readers that
///         the folder holds no dataset, and `recover` finds the records.
Result<void> publish_dataset(const OutputFolder& folder, std::vector<FinishedShard>& shards, OutputFile& manifest,
                             bool overwrite);

}  // namespace dovetail::detail
