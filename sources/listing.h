// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/mds_index.h"

namespace dovetail::detail {

/// A file to read. A folder's file is named relative to the folder.
struct ListedFile {
  std::string name;
  std::uint64_t size = 0;
  std::optional<Compression> compression = {};  ///< Where that is told, and not to be found by content.
};

/// The records of a dataset's shard that are in the range that was asked for: numbers in the shard.
struct ShardShare {
  std::uint32_t shard = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// The files of a source, in the order in which they are read, and how.
struct SourceListing {
  SourceFormat format = SourceFormat::folder;  ///< Never `detect`.
  std::string folder;                          ///< Empty, or ends with a slash.
  std::vector<ListedFile> files;
  std::set<std::string> indexed;                ///< In a folder, files of which indexes of TFRecords lie there.
  std::vector<std::string> absent;              ///< In a folder, links that lead nowhere, and what is no file.
  LeftOut left_out;                             ///< Of a folder.
  std::vector<std::string> unmatched;           ///< Of its patterns, those that match nothing in it.
  std::uint64_t bytes = 0;                      ///< Sizes added up.
  Compression compression = Compression::none;  ///< Of a source that is a file.
  std::shared_ptr<const MdsIndex> mds;          ///< Of an MDS folder: shard i is file i.
  std::optional<Dataset> dataset;               ///< Of a Dovetail source,
  std::vector<ShardShare> shares;               ///< and what of it is in file i.

  std::string path_of(std::size_t file) const { return folder + files[file].name; }
};

/// Looks at a source, and below it where it is a folder.
/// Errors: as `RecordSource::open`.
Result<SourceListing> list_source(const std::string& path, const SourceOptions& options);

}  // namespace dovetail::detail
