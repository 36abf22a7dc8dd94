// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

namespace dovetail {

/// How far a conversion is. What an earlier one had finished is not counted.
struct ConvertProgress {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;    ///< Of the records.
  std::uint64_t input_bytes = 0;  ///< Read so far, as stored.
  std::uint64_t input_total = 0;  ///< To be read; 0 while a stream is copied.
  double share = 0;               ///< Of the work, 0 to 1: a shuffle reads its input in the first half of it.
};

/// A dataset that gets a part of the records.
struct SplitShare {
  std::string name;  ///< Of its folder.
  double share = 0;  ///< Above 0; all of them add up to 1.

  friend bool operator==(const SplitShare&, const SplitShare&) = default;
};

/// Reads `train=0.9,val=0.1`. One name may come without a share, and gets what the others leave.
/// Errors: `invalid_option`.
Result<std::vector<SplitShare>> parse_split(std::string_view text);

/// Which of `parts` processes this one is, each of which converts its own shards; `merge` makes one dataset of them.
struct ConvertPart {
  std::uint32_t number = 0;  ///< From 0.
  std::uint32_t parts = 1;

  friend bool operator==(const ConvertPart&, const ConvertPart&) = default;
};

/// In the metadata of a dataset that was converted with labels: the names of its classes in the order of their numbers, as a
/// JSON array of strings. Not there where it would have more than `kMaxClassesBytes`, or a source has none. Metadata that is
/// given to a conversion has no key that begins with `dovetail.`.
inline constexpr std::string_view kClassesKey = "dovetail.classes";
inline constexpr std::size_t kMaxClassesBytes = std::size_t{1} << 20;

/// What is converted, and into what.
struct ConvertOptions {
  // These change the bytes.

  /// Files and folders, all of one format; their records follow each other in this order. `-` is standard input; it, and
  /// pipes, are copied beside the output first, as they are stored.
  std::vector<std::string> sources = {};
  SourceFormat from = SourceFormat::detect;
  /// How all of them are read. Format, `max_record_bytes`, `skipped` and `cancelled` are not taken from it.
  SourceOptions source = {};
  /// `shard.max_record_bytes` limits what is read as well. An empty `shard.record_type` becomes that of the
  /// sources where all have the same; so does the schema, and the metadata of datasets are kept where all have the
  /// same. `shard_bytes` is the mean that is aimed at: the number of shards is fixed before anything is written, from
  /// the size of the input and the first records. `encode_threads`, `shards` and `expected_records` are not for
  /// conversions.
  DatasetWriterOptions writer = {};
  /// Exactly this many shards, of about equal shares of the input: record r goes to shard b * shards / t, where b of
  /// all t input bytes lie before it. The order of the records is kept, and some shards may be empty. Up to
  /// `kMaxShards`; 0 goes by `writer.shard_bytes`.
  std::uint32_t shards = 0;
  /// Shuffles all records, in an order that follows from this seed and the places of the records in their sources
  /// alone. Needs space for all records beside the output while it runs, in files without a name.
  std::optional<std::uint64_t> shuffle_seed = {};
  /// Makes a dataset of each, in a folder of its name, with the same number of shards; empty makes one of all records.
  /// Where a record goes follows from `split_seed` and its key, or its bytes where it has none: not from order, shards
  /// or other records.
  std::vector<SplitShare> split = {};
  std::uint64_t split_seed = 0;
  /// Converts shards [number * shards / parts, (number + 1) * shards / parts) only, without a manifest. Without a
  /// dataset id, one is made from the names and sizes of the input and from the options, so that all parts agree.
  std::optional<ConvertPart> part = {};

  // These change speed only.

  /// Threads that read, and that encode; 0 takes the cores of the machine.
  unsigned jobs = 0;
  /// For the records of a shuffle that are in memory, all jobs together.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;

  // These change what is left behind.

  /// Continues what an earlier call with the same options has left, and leaves finished shards where this one is
  /// cancelled, killed, or fails for want of space and the like. Without it what an earlier call left is removed, but
  /// where a dataset or shards of one are in the way and `overwrite` is not set; and nothing is left behind but by a kill.
  bool resume = true;

  /// Called now and then, from any thread of the conversion but never from two at once; false cancels. It holds up one
  /// thread, so it should return soon. What it throws cancels, too, and comes out of `convert`.
  std::function<bool(const ConvertProgress&)> progress = {};
};

/// What a source was taken for.
struct ConvertedSource {
  std::string path;
  SourceFormat format = SourceFormat::detect;
  LeftOut left_out;                         ///< See `RecordSource::left_out`.
  std::vector<std::string> classes;         ///< See `RecordSource::classes`.
  std::vector<CsvColumn> columns;           ///< See `RecordSource::columns`.
  std::vector<std::string> unmatched = {};  ///< See `RecordSource::unmatched`.
};

/// What `convert` did.
struct ConvertReport {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t files = 0;            ///< Input files.
  std::vector<SourceFormat> formats;  ///< Of each source.
  std::vector<ConvertedSource> sources;
  std::uint32_t shards = 0;       ///< Of each dataset; of a part its own only.
  std::uint32_t kept_shards = 0;  ///< Of these, what an earlier call had finished.
  std::uint64_t stored_bytes = 0;
  /// Records left out under `OnError::skip`, each rest of a file as one; without those of kept shards, and of a part those
  /// in its own share of the input: all parts together have left out the sum.
  std::uint64_t skipped = 0;
  std::vector<SkippedRecord> first_skipped;  ///< The first errors, at most 20, in the order of the input.
  /// One, or one for each share of a split in its order; none for a part.
  std::vector<DatasetInfo> datasets;
};

/// Packs sources of other formats into a dataset, shard by shard on all cores. The bytes of a shard follow from sources
/// and options, the dataset id included, and not from the number of jobs.
///
/// A dataset is whole or not there: shards are finished one by one in a hidden folder, `.dovetail-part-00000-of-00001`,
/// and get their names at the end, the manifest last. A call that finds such a folder continues with the shards that
/// are missing. One process at a time works on it.
///
/// Errors: those of `RecordSource` and `DatasetWriter`; `empty_input` where there is no source, or no record in any;
///         `invalid_option`, also where sources, or the shards of one, are of different records or classes;
///         `already_exists` where the folder holds a dataset and `overwrite` is not set, or shards that a manifest
///         would hide; `state_mismatch` where an earlier conversion with other input or options is unfinished in
///         the folder, naming what differs, or one of another number of parts; `busy`;
///         `boost::system::errc::operation_canceled`. Of damage in several places the first in the order of the input
///         is reported. Nothing is left after damage, nor after wrong options but for what an earlier call had
///         finished.
/// Cost:   memory does not grow with the size of the input, but for the names of a folder's files and a line per shard.
Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options);

/// Makes a dataset, or those of a split, of the parts in `folder`, which are removed. Stopped anywhere, it can be
/// called again.
///
/// Errors: `unfinished` naming the parts that are missing; `manifest_mismatch` where parts were converted from other
///         input or with other options; `already_exists` where the folder holds a dataset and `overwrite` is not set;
///         `busy`; `empty_input` without parts, or without a record in any.
Result<ConvertReport> merge(const std::string& folder, bool overwrite = false);

}  // namespace dovetail
