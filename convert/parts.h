// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "convert/facts.h"
#include "convert/work_folder.h"

namespace dovetail::detail {

/// A part whose shards are all finished.
struct WholePart {
  Facts facts;
  DatasetId dataset_id;
  std::vector<std::vector<ShardInfo>> shards;  ///< By dataset.
};

/// Shards of part `number` of `parts`: [result, result of number + 1).
std::uint32_t first_shard_of(std::uint32_t number, std::uint32_t parts, std::uint32_t shards) noexcept;

/// Writes the manifest of a part, which is the last of its files: a Dovetail shard, whose first record is the facts; of
/// each dataset follow the number of its shards as text and an entry for each, as in a manifest.
Result<void> write_part(const WorkFolder& work, const WholePart& part, Codec codec);
/// Nothing where the part is not whole. Errors: `bad_message` and those of `RecordReader`.
Result<std::optional<WholePart>> read_part(const WorkFolder& work);

/// Makes the datasets of all parts, which are given in their order, and lets each part say that it was merged. Of `contents` only the
/// first has to have its facts.
///
/// Needs: the lock of each part, or that of the target and no other process in them. Opens few of them at once.
///
/// May be repeated after a stop at any point: what has its name already is told from an older dataset by its id.
/// Errors: as `merge`.
Result<ConvertReport> assemble(const std::string& target, const std::vector<ConvertPart>& parts,
                               const std::vector<WholePart>& contents, bool overwrite);

/// Tells of the datasets that an `assemble` which was killed later had made of `parts`, those that are left. Nothing where one of
/// them does not say that it was merged, or these datasets are not there.
/// Needs:  as `assemble`.
/// Errors: the system's; `bad_message`.
Result<std::optional<ConvertReport>> merged_earlier(const std::string& target, const std::vector<ConvertPart>& parts);

/// Removes the folders of parts, the first one, which is `first`, last, as far as the system lets it.
void remove_parts(const std::string& target, const std::vector<ConvertPart>& parts, WorkFolder& first) noexcept;

}  // namespace dovetail::detail
