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

/// Returns the name of a shard file in a dataset's folder: `shard-NNNNNN.dvt`.
std::string shard_name(std::uint32_t number);
/// Returns the number in such a name, or nothing for other names.
std::optional<std::uint32_t> shard_number_of(std::string_view name);

/// Writes the manifest of finished shards. Its bytes are durable; its name becomes durable with the
/// next sync of the folder.
Result<void> write_manifest(std::shared_ptr<const OutputFolder> folder, const DatasetId& dataset_id, Codec codec,
                            const std::vector<ShardInfo>& shards);

}  // namespace dovetail::detail
