// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

namespace dovetail {

/// How what is left of a shard or a dataset is written anew.
struct RecoverOptions {
  /// Replaces a file or a dataset that is there; never the source itself.
  bool overwrite = false;
  /// Random where not given. One of its own keeps the old blocks from ever passing as blocks of the new files.
  std::optional<DatasetId> dataset_id = {};
  /// Lets a manifest name files outside its own folder.
  bool allow_outside = false;
  /// Regions that the report lists. Of the others only the number is told, so that a report is small whatever the damage.
  std::uint64_t most_regions = 65'536;
  /// Called now and then with the records written and the bytes checked so far; false cancels.
  std::function<bool(std::uint64_t records, std::uint64_t bytes)> progress = {};
};

/// A place of the source that is not in the output, or that is not what a good file has there.
struct LostRegion {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;         ///< 0 where the bytes are not there at all.
  std::uint64_t first_record = 0;  ///< In the shard as it was.
  std::uint64_t end_record = 0;    ///< One past the last; equal to `first_record` where no record is lost.
  std::string reason;

  friend bool operator==(const LostRegion&, const LostRegion&) = default;
};

/// What `recover` saved, and what it could not.
struct RecoverReport {
  std::uint64_t records = 0;  ///< Written.
  std::uint64_t blocks = 0;   ///< Of the source that they were in.
  /// Records that the source had. Unknown where neither a trailer, a footer, the head of an index nor a manifest is left;
  /// then records behind the last region may be missing, too.
  std::optional<std::uint64_t> expected_records;
  /// By file and place; the first `most_regions`.
  std::vector<LostRegion> lost;
  /// All there are. Without one the output has all records of the source, as far as anything tells.
  std::uint64_t lost_regions = 0;
  std::uint64_t lost_records = 0;  ///< In all of these regions.
  /// Files whose records are not read because another file of the same shard is: a finished one before what a killed writer
  /// left, of finished ones one whose end is good, else the longest.
  std::vector<std::string> passed_over;
  /// Files `*.dvt` that are no shards: a manifest under another name, that of a part of a conversion, the index of a TFRecord.
  /// Told only where there is no good manifest.
  std::vector<std::string> not_shards;
  std::uint64_t source_bytes = 0;  ///< Of the files that were read for their records.
  /// Headers and bodies, each time: of a shard at most nine times its bytes, of a file that is not taken at most once. Without a
  /// good manifest seven times more of a file that has the name of a part's manifest and a damaged end.
  std::uint64_t checked_bytes = 0;
  /// Of these files, that could not be read, also when tried again: whole pages of 4 KiB.
  std::uint64_t unreadable_bytes = 0;
  DatasetId dataset_id;           ///< Of what was written.
  std::vector<ShardInfo> shards;  ///< What was written, as a manifest has it.

  bool ok() const noexcept { return lost_regions == 0; }
};

/// Saves every whole block of a shard or a dataset: finds the blocks by their headers alone, checks and decodes them, and
/// writes their records in order into new files, which are as valid as any. See docs/format.md, "Recovering".
///
/// `source` is a shard that is finished, damaged, cut, or left by a writer that was killed, and `target` a file; or it is
/// a folder of shards or a manifest, and `target` a folder. A file that a writer is at work on is refused where the file
/// system has locks; elsewhere it looks like that of a writer that was killed. A dataset keeps the order of its shards, and their numbers
/// where its manifest is good: a shard that is gone leaves an empty one, and one that lies beside the manifest under another
/// name is found by its file id, which `lost` tells. Without a good manifest its shards are the `*.dvt` and the `.*.dvt.partial-*` in the folder, by their numbers; of several datasets the one with the most numbers is taken, and
/// the files of the others are in `lost`. Record type, schema and metadata are kept where they are left, as is the run
/// length; blocks are compressed where those of the source are. Their size is not kept, nor are skippable blocks.
///
/// What cannot be read, as on a disk with bad sectors, is read around: pages of 4 KiB, each tried twice at most.
///
/// A record is written once, and only if all checks of its block hold. Where blocks contradict each other, those that the
/// index knows are right; without it those at their own place, and of these the longer sequence. A whole block inside a
/// record, with the file id of the shard, is taken for one of its own where the block around it is damaged.
///
/// Errors: `not_dovetail` where nothing of a shard is found, `foreign_file` in a file of another name; `unsupported_version`; `file_changed` where one gets
///         shorter meanwhile; `unknown_format` for the index of a TFRecord and what is no file; `empty_input` for a
///         folder without shards; `unfinished` for one in which a conversion was stopped, and for a file that a writer is
///         at work on; `outside_dataset`; `already_exists`; `invalid_option` where `target` is the source or has a file of
///         it, be it through links; `boost::system::errc::operation_canceled`; the system's. One shard that is missing,
///         unreadable or no shard is only lost; where nothing is found in any, the first of their errors. Nothing is then
///         left of the output.
/// Cost:   two passes over each shard; one more where its ends are damaged, missing or differ, and another where its index
///         contradicts most of its blocks. Time linear in its size, but for sorting its blocks, whatever its bytes. Memory
///         for a block, some 100 bytes for each block of a shard and 200 for each damaged place in it, and the regions that
///         are listed.
Result<RecoverReport> recover(const std::string& source, const std::string& target, const RecoverOptions& options = {});

}  // namespace dovetail
