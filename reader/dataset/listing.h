// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The files that a path from the user stands for. None of them has been opened.
struct Listing {
  enum class Kind {
    file,      ///< One file, which may be a shard or a manifest.
    manifest,  ///< A folder with a manifest.
    files,     ///< A folder without a manifest.
    matches,   ///< A glob.
  };

  Kind kind = Kind::file;
  std::string folder;              ///< Folder of `names`; empty for the current folder.
  std::vector<std::string> names;  ///< In bytewise order; one name for `file` and `manifest`.
};

/// Finds the files of a path: a folder, a file or a glob.
/// Errors: `empty_input` if nothing is found, with advice; `unfinished` for a folder whose writer
///         was stopped while it published its shards; `several_datasets` for a folder without a
///         manifest that contains folders with manifests; those of the system.
Result<Listing> list_dataset(const std::string& path);

/// The shards and datasets below a folder, at any depth. Names are relative to it and in bytewise
/// order.
struct FilesBelow {
  std::vector<std::string> shards;    ///< Includes indexed TFRecord files.
  std::vector<std::string> datasets;  ///< Subfolders that are datasets, finished or not.
};

/// Lists the files below a folder. Hidden files, partial files, manifests and indexes do not count
/// as shards. Links to folders are not followed.
/// Errors: `not_indexed` for a TFRecord without an index among others that have one, unless there
///         are datasets; those of the system, for a folder that cannot be listed or a file that
///         cannot be examined.
Result<FilesBelow> list_shards_below(const std::string& folder);

}  // namespace dovetail::detail
