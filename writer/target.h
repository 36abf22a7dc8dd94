// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dovetail/error.h>

#include "writer/output_folder.h"

namespace dovetail::detail {

/// The datasets that may be replaced at a target.
struct Overwrite {
  Overwrite(bool what_is_there, std::vector<std::string> of_split = {})  // NOLINT(google-explicit-constructor)
      : allowed(what_is_there), datasets(std::move(of_split)) {}

  bool allowed;
  std::vector<std::string> datasets;  ///< Of a split: only folders of these names may be replaced.
};

/// Returns the path of a target without trailing slashes, links resolved.
/// Errors: `invalid_option` for a URL, an empty path, and the name of a staging folder; the
/// system's.
Result<std::string> resolve_target(const std::string& path);

/// Split a resolved path: `parent_of` is empty for the working directory, `name_in_parent` is the
/// last name.
std::string parent_of(const std::string& path);
std::string name_in_parent(const std::string& path);

/// Checks that a dataset may be published at a resolved target. The target must not exist, be
/// empty, or hold only datasets that may be replaced. Returns whether a dataset is replaced.
/// Errors: `already_exists` names the file in the way; `invalid_option`, which advises to name a
/// subfolder, for a folder that cannot be renamed: a mount point, the working directory, a folder
/// whose parent is not writable; the system's, also if the old dataset could not be removed.
Result<bool> check_target(const std::string& target, const Overwrite& overwrite);

/// Checks early that a shard may be written at a path. Errors: `already_exists`; EISDIR for a folder.
Result<void> check_shard_target(const std::string& path, bool overwrite);

/// Checks that a process may write into the staging folder beside a target. In a sticky folder it
/// must not belong to another user, and it must not be a mount point. Errors: `already_exists`.
Result<void> check_staging_folder(const OutputFolder& folder);

/// The names in the folder of a dataset, published or staged.
struct DatasetNames {
  std::vector<std::string> marks;    ///< `.dovetail-part-*`, in ascending order.
  std::vector<std::string> files;    ///< Manifest, shards, and partial files.
  std::vector<std::string> folders;  ///< Datasets of a split.
  std::string foreign;               ///< Path of a file that is none of these, nor the lock; empty if there is none.
};

/// Sorts the names in a folder. A folder in it counts as a dataset of a split. Any file in that
/// folder that is not a dataset's is foreign.
Result<DatasetNames> dataset_names(const OutputFolder& folder);

}  // namespace dovetail::detail
