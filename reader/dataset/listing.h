// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The files that a path given by the user stands for. None of them has been opened.
struct Listing {
  enum class Kind {
    file,      ///< One file, which may be a shard or a manifest.
    manifest,  ///< A folder with a manifest.
    files,     ///< A folder without one.
    matches,   ///< A glob.
  };

  Kind kind = Kind::file;
  std::string folder;              ///< What `names` are relative to; empty for the current folder.
  std::vector<std::string> names;  ///< In bytewise order; exactly one of a file, or of a manifest.
};

/// Finds out what a path stands for: folder, file or glob.
/// Errors: `empty_input` where nothing is found, with what to do; `unfinished` for a folder whose writer was stopped while
///         it published its shards; `several_datasets` for a folder without a manifest above ones that have theirs; the
///         system's.
Result<Listing> list_dataset(const std::string& path);

/// What lies below a folder, subfolders included, relative to it and in bytewise order.
struct FilesBelow {
  std::vector<std::string> shards;    ///< And indexed TFRecord files.
  std::vector<std::string> datasets;  ///< Subfolders with a manifest of their own, finished or not.
};

/// Lists them. Hidden files, partial files, manifests and indexes are no shards, links to folders are not followed.
/// Errors: `not_indexed` for a TFRecord without an index beside ones that have one, unless there are datasets; the
///         system's, for a folder that cannot be listed, and for what may be one or not.
Result<FilesBelow> list_shards_below(const std::string& folder);

}  // namespace dovetail::detail
