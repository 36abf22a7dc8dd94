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

/// A shard of a dataset that is to be recovered.
struct ListedShard {
  std::string path;
  std::optional<ShardInfo> entry = {};        ///< What a manifest says of it.
  std::optional<std::uint64_t> file_id = {};  ///< That of its blocks; without one nothing of a shard was found.
  std::optional<Error> unreadable = {};       ///< Why it cannot be opened. Nothing is to be done with its path then.
};

struct RecoveryListing {
  std::vector<ListedShard> shards;  ///< In their order.
  std::vector<LostRange> lost;  ///< Of the dataset as a whole: its manifest, missing shards, files of other datasets.
  std::vector<std::string> passed_over;
  std::vector<std::string> not_shards;
  std::vector<std::string> foreign;  ///< Files of other datasets, and of other versions of this one.
  bool has_manifest = false;
};

/// Whether what is said to have records of this type is no shard of a dataset, but says something of others: a manifest, that
/// of a part of a conversion, the index of a TFRecord.
bool holds_no_records(std::string_view record_type) noexcept;

/// Whether an error of one file ends the whole recovery: what the system refuses, though not that a file is missing or that
/// its medium fails; that it gets shorter meanwhile; what another version could read; what is outside the dataset; and that
/// it was cancelled.
bool ends_recovery(const Error& error);

/// The shards of a dataset by its manifest, or where that is not good by the files in its folder, as docs/format.md,
/// "Recovering", says.
/// Errors: `unfinished` for a conversion that was stopped; `empty_input`; those that `ends_recovery` is true for.
/// Cost:   without a good manifest reads files whose ends are damaged, missing or differ; seven times those that have the name
///         of a part's manifest and a damaged end.
Result<RecoveryListing> list_for_recovery(const std::string& folder, const std::string& manifest, bool allow_outside,
                                          const CheckedBytes& checked);

}  // namespace dovetail::detail
