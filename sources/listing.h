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
  std::optional<Compression> compression = {};  ///< Set if it is known without the content.
};

/// The records of a dataset's shard in the requested range, as numbers in the shard.
struct ShardShare {
  std::uint32_t shard = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// The files of a source in reading order, and how to read them.
struct SourceListing {
  SourceFormat format = SourceFormat::folder;  ///< Never `detect`.
  std::string folder;                          ///< Empty, or ends with a slash.
  std::vector<ListedFile> files;
  std::set<std::string> indexed;                ///< In a folder, files that have a TFRecord index there.
  std::vector<std::string> absent;              ///< In a folder, dangling links and special files.
  LeftOut left_out;                             ///< Of a folder.
  std::vector<std::string> unmatched;           ///< Patterns that match nothing in it.
  std::vector<std::string> notes;               ///< See `notes_on_files`.
  std::uint64_t bytes = 0;                      ///< Total size.
  Compression compression = Compression::none;  ///< Compression of a source that is a single file.
  std::shared_ptr<const MdsIndex> mds;          ///< Of an MDS folder: shard i is file i.
  std::optional<Dataset> dataset;               ///< Set for a Dovetail source.
  std::vector<ShardShare> shares;               ///< Its records in file i.

  std::string path_of(std::size_t file) const { return folder + files[file].name; }
};

/// Examines a source, and everything below it if it is a folder.
/// Errors: as `RecordSource::open`.
Result<SourceListing> list_source(const std::string& path, const SourceOptions& options);

}  // namespace dovetail::detail
