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
    files,     ///< A folder without one, or a glob.
  };

  Kind kind = Kind::file;
  std::string folder;              ///< What `names` are relative to; empty for the current folder.
  std::vector<std::string> names;  ///< In bytewise order; exactly one unless `kind` is `files`.
};

/// Finds out what a path stands for: folder, file or glob.
/// Errors: `empty_input` where nothing is found, with what to do; `unfinished` for a folder whose writer was stopped while
///         it published its shards; the system's.
Result<Listing> list_dataset(const std::string& path);

/// The shards and indexed TFRecord files below a folder, subfolders included, relative to it and in bytewise order. Hidden
/// files, partial files, manifests and indexes are left out, links to folders are not followed. Errors: `not_indexed` for a TFRecord without an index beside ones that have
/// one; the system's, for a folder that cannot be listed.
Result<std::vector<std::string>> list_shards_below(const std::string& folder);

}  // namespace dovetail::detail
