// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/recover.h>
#include <dovetail/shard_info.h>

#include "recover/shard_scan.h"

namespace dovetail::detail {

/// A shard of a dataset to be recovered.
struct ListedShard {
  std::string path;
  std::optional<ShardInfo> entry = {};        ///< The shard's entry in the manifest.
  std::optional<std::uint64_t> file_id = {};  ///< File id of its blocks; empty if none was found.
  std::optional<Error> unreadable = {};       ///< Why the file cannot be opened. `path` is then unused.
};

struct RecoveryListing {
  std::vector<ListedShard> shards;  ///< In the order of the dataset.
  /// Of the dataset as a whole: its manifest, missing shards, files of other datasets.
  std::vector<LostRange> lost;
  std::vector<std::string> passed_over;
  std::vector<std::string> not_shards;
  std::vector<std::string> foreign;  ///< Files of other datasets.
  bool has_manifest = false;
};

/// Why a file with this shard number or type of records is no shard but describes some: a manifest,
/// the manifest of a part of a conversion, the index of a TFRecord. Null for a shard.
const char* why_no_shard(std::optional<std::uint32_t> shard_number, std::string_view record_type) noexcept;

/// Returns whether an error of one file ends the whole recovery. These are refusals of the system,
/// cancellation, and a file that lies outside the dataset, gets shorter meanwhile, or needs another
/// version of the library. A missing file or a failing medium does not end the recovery.
bool ends_recovery(const Error& error);

/// Lists the shards of a dataset by its manifest or, if the manifest is damaged, by the files in
/// its folder. See docs/format.md, "Recovering".
/// Errors: `unfinished` for a conversion that was stopped; `empty_input`; those for which
/// `ends_recovery` is true.
/// Cost:   without a good manifest, reads files whose ends are damaged, missing or contradictory.
///         Reads a file seven times if its end is damaged and its name is that of a part's
///         manifest.
Result<RecoveryListing> list_for_recovery(const std::string& folder, const std::string& manifest, bool allow_outside,
                                          const CheckedBytes& checked);

}  // namespace dovetail::detail
