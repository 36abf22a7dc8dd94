// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/identity.h>
#include <dovetail/lost_range.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// How the remains of a shard or a dataset are written to new files.
struct DOVETAIL_EXPORT RecoverOptions {
  /// Replaces an existing file or dataset, but never the source itself.
  bool overwrite = false;
  /// Random by default. A new id keeps old blocks from ever passing as blocks of the new files.
  std::optional<DatasetId> dataset_id = {};
  /// Lets a manifest name files outside its own folder. Default off.
  bool allow_outside = false;
  /// Most regions that the report lists, so that a report stays small. Further regions are only
  /// counted.
  std::uint64_t most_regions = 65'536;
  /// Called from time to time with the records written and the bytes checked so far. Returning
  /// false cancels.
  std::function<bool(std::uint64_t records, std::uint64_t bytes)> progress = {};
};

/// Result of `recover`.
struct DOVETAIL_EXPORT RecoverReport {
  std::uint64_t records = 0;  ///< Records written.
  std::uint64_t blocks = 0;   ///< Source blocks that held them.
  /// Records that the source had. Unknown if no trailer, footer, index header or manifest is left.
  /// Then records behind the last region may be missing too.
  std::optional<std::uint64_t> expected_records;
  /// The first `most_regions` regions, by file and place.
  std::vector<LostRange> lost;
  /// Number of all regions. 0 means that the output has all records of the source, as far as
  /// anything shows.
  std::uint64_t lost_regions = 0;
  std::uint64_t lost_records = 0;  ///< Records in all of these regions.
  /// Files that were not read, because another file of the same shard was. A finished file has
  /// priority over what a killed writer left. Among finished files, one with a good end has
  /// priority, then the longest.
  std::vector<std::string> passed_over;
  /// Files `*.dvt` that are not shards: a manifest under another name, the manifest of a part of a
  /// conversion, the index of a TFRecord. Filled only if there is no good manifest.
  std::vector<std::string> not_shards;
  std::uint64_t source_bytes = 0;  ///< Bytes of the files that were read for their records.
  /// Bytes of headers and bodies checked, counted each time. At most nine times the bytes of a
  /// shard, and once those of a file that is not taken.
  std::uint64_t checked_bytes = 0;
  /// Bytes of these files that could not be read, even when tried again: whole pages of 4 KiB.
  std::uint64_t unreadable_bytes = 0;
  DatasetId dataset_id;           ///< Id of the new dataset.
  std::vector<ShardInfo> shards;  ///< The new shards, as a manifest lists them.

  bool ok() const noexcept { return lost_regions == 0; }
};

/// Saves every whole block of a shard or a dataset. Finds blocks by their headers alone, checks and
/// decodes them, and writes their records in order into new, fully valid files. See docs/format.md,
/// "Recovering".
///
/// Source and target:
/// - `source` is a shard and `target` a file. The shard may be finished, damaged, cut, or left by a
///   killed writer.
/// - Or `source` is a folder of shards or a manifest, and `target` is a folder.
/// - What a writer is still writing, a file or the folder `TARGET.partial`, is refused if the file
///   system has locks. Without locks it looks like that of a killed writer.
///
/// Datasets:
/// - The order of the shards is kept. With a good manifest their numbers are kept too: a lost shard
///   becomes an empty one, also if it lies there under another name than in the manifest.
/// - Without a good manifest, the shards are `*.dvt` and `.*.dvt.partial-*` in the folder, by their
///   numbers. Of several datasets the one with the most numbers is taken; files of the others are
///   in `lost`.
/// - Record type, schema, metadata and run length are kept if they are found. Blocks are compressed
///   if those of the source are. Block sizes and skippable blocks are not kept.
///
/// Blocks and records:
/// - Unreadable places, as on a disk with bad sectors, are read around: pages of 4 KiB, each tried
///   at most twice.
/// - A record is written once, and only if all checks of its block hold.
/// - If blocks contradict each other, those in the index are right. Without an index, those at
///   their own place are right, and of these the longer sequence.
/// - A record may hold a whole block with the file id of the shard. If the block around it is
///   damaged, it counts as a block of the shard.
///
/// A shard that is missing, unreadable or not a shard counts as lost. If nothing is found in any
/// shard, the first of their errors is returned. After an error nothing is left of the output,
/// except partial names that cannot be removed, or a whole target that cannot be synced or tidied.
///
/// Errors: `not_dovetail` if nothing of a shard is found, or `foreign_file` if the file has no name
///         of a shard either; `unsupported_version`; `file_changed` if a file gets shorter
///         meanwhile; `unknown_format` for the index of a TFRecord, and for anything but a file;
///         `empty_input` for a folder without shards; `unfinished` for what a writer is still
///         writing; `outside_dataset`; `already_exists`; `invalid_option` if `target` or
///         `TARGET.partial` is the source or contains a file of it, also through links, and for
///         folders as with `DatasetWriter`; `boost::system::errc::operation_canceled`; the
///         system's.
/// Cost:   two passes over each shard. One more if its ends are damaged, missing or differ; another
///         if its index contradicts most of its blocks. Time is linear in its size for any
///         bytes, except for sorting its blocks. Memory for a block, about 100 bytes per block of a
///         shard, 200 bytes per damaged place in it, and the listed regions.
DOVETAIL_EXPORT Result<RecoverReport> recover(const std::string& source, const std::string& target,
                                              const RecoverOptions& options = {});

}  // namespace dovetail
