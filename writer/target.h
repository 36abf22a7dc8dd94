// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dovetail/error.h>

#include "writer/output_folder.h"

namespace dovetail::detail {

/// What may be replaced at a target.
struct Overwrite {
  Overwrite(bool what_is_there, std::vector<std::string> of_split = {})  // NOLINT(google-explicit-constructor)
      : allowed(what_is_there), datasets(std::move(of_split)) {}

  bool allowed;
  std::vector<std::string> datasets;  ///< Of a split: folders of these names, and of no others.
};

/// The path of a target without slashes at its end, links resolved.
/// Errors: `invalid_option` for an address, an empty path, and the name of a folder that is staged; the
///         system's.
Result<std::string> resolve_target(const std::string& path);

/// The path above a resolved one, empty for the working directory; and the name of it there.
std::string parent_of(const std::string& path);
std::string name_in_parent(const std::string& path);

/// Checks that a dataset may come to a resolved target: a folder that does not exist, that is empty, or
/// one that holds nothing but what may be replaced. Returns whether something is replaced.
/// Errors: `already_exists` names what is in the way; `invalid_option` for a folder that cannot be
///         renamed (a mount point, the working directory, one in a folder that cannot be written)
///         advises to name a subfolder; the system's, also where the old dataset could not be removed.
Result<bool> check_target(const std::string& target, const Overwrite& overwrite);

/// Checks that a folder beside a target may be written in, if it is a staging folder: nobody else's in a
/// sticky folder, and no mount point. Errors: `already_exists`.
Result<void> check_staging_folder(const OutputFolder& folder);

/// What is in the folder of a dataset, or in one that becomes a dataset.
struct DatasetNames {
  std::vector<std::string> marks;    ///< `.dovetail-part-*`, in their order.
  std::vector<std::string> files;    ///< Manifest, shards, and files that were being written.
  std::vector<std::string> folders;  ///< Datasets of a split.
  std::string foreign;  ///< Path of something that is none of these, nor the lock; empty where there is nothing.
};

/// Sorts the names in a folder. Folders in it are datasets of a split if all that is in them is a dataset's.
Result<DatasetNames> dataset_names(const OutputFolder& folder);

}  // namespace dovetail::detail
