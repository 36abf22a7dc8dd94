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
#include <dovetail/export.h>
#include <dovetail/record_source.h>

namespace dovetail {

/// Progress of a conversion. Work that an earlier call finished is not counted.
struct DOVETAIL_EXPORT ConvertProgress {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;    ///< Bytes of the records.
  std::uint64_t input_bytes = 0;  ///< Input bytes read so far, as stored.
  std::uint64_t input_total = 0;  ///< Input bytes to read; 0 while a stream is copied.
  /// Share of the work done, 0 to 1. A shuffle reads its input in the first half of it.
  double share = 0;
};

/// One dataset of a split, which gets a share of the records.
struct DOVETAIL_EXPORT SplitShare {
  std::string name;  ///< Name of its folder.
  double share = 0;  ///< Above 0; all shares add up to 1.

  friend bool operator==(const SplitShare&, const SplitShare&) = default;
};

/// Parses `train=0.9,val=0.1`. One name may have no share; it gets the rest.
/// Errors: `invalid_option`.
DOVETAIL_EXPORT Result<std::vector<SplitShare>> parse_split(std::string_view text);

/// Selects the part of one process. Each of `parts` processes converts its own shards; `merge`
/// makes one dataset of all parts.
struct DOVETAIL_EXPORT ConvertPart {
  std::uint32_t number = 0;  ///< From 0.
  std::uint32_t parts = 1;

  friend bool operator==(const ConvertPart&, const ConvertPart&) = default;
};

/// Metadata key of a dataset that was converted with labels. The value is a JSON array of the class
/// names, in the order of their numbers. It is omitted above `kMaxClassesBytes`, or if a source has
/// no classes. Metadata given to a conversion must not use keys that begin with `dovetail.`.
inline constexpr std::string_view kClassesKey = "dovetail.classes";
inline constexpr std::size_t kMaxClassesBytes = std::size_t{1} << 20;

/// The input of a conversion, and how its output is written.
struct DOVETAIL_EXPORT ConvertOptions {
  // These change the bytes.

  /// Files and folders, all of one format. Their records follow each other in this order. `-` is
  /// standard input. Standard input and pipes are first copied beside the output, as stored.
  std::vector<std::string> sources = {};
  SourceFormat from = SourceFormat::detect;
  /// How all sources are read. `format`, `max_record_bytes`, `schema`, `skipped` and `cancelled` are
  /// ignored here.
  SourceOptions source = {};
  /// How shards are written. `shard.max_record_bytes` also limits the records that are read. If
  /// `shard.record_type` is empty, or no schema is given, it is that of the sources if all have the
  /// same. Metadata of source datasets is kept where all have the same.
  /// `shard_bytes` is a target for the mean: the number of shards is fixed before anything is
  /// written, from the size of the input and the first records. `encode_threads`, `shards` and
  /// `expected_records` do not apply to conversions.
  DatasetWriterOptions writer = {};
  /// Derives the columns of the dataset from the features of its records, as `FeaturesReport`
  /// describes. Each part reads all sources once more, with up to 8 threads. `convert` fails with
  /// `invalid_option` if a record is not an Example or a feature changes its kind. JSON lines with
  /// `RecordForm::example` are always read so. Needs: no `writer.shard.schema`.
  bool infer_schema = false;
  /// Number of shards, up to `kMaxShards`; 0 (default) follows from `writer.shard_bytes`. Shards
  /// have about equal shares of the input: record r goes to shard b * shards / t, where b of all t
  /// input bytes lie before it. Records keep their order, and some shards may be empty.
  std::uint32_t shards = 0;
  /// Shuffles all records with this seed. The order depends only on the seed and on the places of
  /// the records in their sources. Needs disk space for all records beside the output while it
  /// runs, in unnamed files.
  std::optional<std::uint64_t> shuffle_seed = {};
  /// Makes one dataset per share, each in a folder of its name and with the same number of shards.
  /// Empty (default) makes one dataset of all records. Assignment depends only on `split_seed` and
  /// the key of the record (its bytes if it has no key), not on order, shards or other records.
  std::vector<SplitShare> split = {};
  std::uint64_t split_seed = 0;
  /// Converts only shards [number * shards / parts, (number + 1) * shards / parts); `merge` makes a
  /// dataset of all. Without a dataset id, one is derived from the names and sizes of the input and
  /// from the options, so that all parts agree.
  std::optional<ConvertPart> part = {};

  // These change speed only.

  /// Threads that read, and threads that encode. 0 (default) uses the cores of the machine.
  unsigned jobs = 0;
  /// Bytes of memory for the records of a shuffle, shared by all jobs. Default 1 GiB.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;

  // These change what is left behind.

  /// Continues an earlier call with the same options. Finished shards stay if this call is
  /// cancelled or killed, or fails for a reason such as a full disk.
  /// If false, removes what an earlier call left, unless a dataset is in the way and `overwrite` is
  /// not set. Only a kill leaves anything behind then.
  bool resume = true;

  /// Called from time to time, from any thread of the conversion but never from two at once.
  /// Returning false cancels. The call blocks one thread, so return soon. An exception cancels too,
  /// and leaves `convert`.
  std::function<bool(const ConvertProgress&)> progress = {};
};

/// How a source was read.
struct DOVETAIL_EXPORT ConvertedSource {
  std::string path;
  SourceFormat format = SourceFormat::detect;
  LeftOut left_out;                         ///< See `RecordSource::left_out`.
  std::vector<std::string> classes;         ///< See `RecordSource::classes`.
  std::vector<CsvColumn> columns;           ///< See `RecordSource::columns`.
  std::vector<std::string> unmatched = {};  ///< See `RecordSource::unmatched`.
  std::vector<std::string> notes = {};      ///< See `RecordSource::notes`; also in those of the report.
};

/// Result of `convert`.
struct DOVETAIL_EXPORT ConvertReport {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t files = 0;            ///< Input files.
  std::vector<SourceFormat> formats;  ///< Format of each source.
  std::vector<ConvertedSource> sources;
  std::optional<Schema> schema;   ///< Columns of the dataset; none from `merge`.
  std::uint32_t shards = 0;       ///< Shards of each dataset; for a part, only its own.
  std::uint32_t kept_shards = 0;  ///< Of these, the shards that an earlier call had finished.
  std::uint64_t stored_bytes = 0;
  /// Records left out under `OnError::skip`; the rest of a file counts as one. Kept shards are not
  /// included. A part counts those in its own share of the input, so the parts add up to the total.
  std::uint64_t skipped = 0;
  /// The first errors, at most 20, in the order of the input.
  std::vector<SkippedRecord> first_skipped;
  /// One dataset, or one per share of a split, in the order of the shares; none for a part.
  std::vector<DatasetInfo> datasets;
  /// What is probably not meant, such as a pattern that matches nothing, and what to do about it. A
  /// sentence each. Numbers of records are without those of kept shards and other parts.
  std::vector<std::string> notes;
};

/// Packs sources of other formats into a dataset, shard by shard on all cores. The bytes of a shard
/// depend on sources and options, including the dataset id, and not on the number of jobs.
///
/// A dataset is either complete or absent, and so are the datasets of a split. Everything is
/// written in `TARGET.partial` beside the folder, and renamed to it at the end, as `DatasetWriter`
/// does. A call that finds an unfinished conversion there continues with the missing shards. If an
/// earlier call was killed after it had renamed the folder, the same call finishes the cleanup and
/// succeeds. Only one process at a time writes there, or one for each part.
///
/// If several places are damaged, the first one in the order of the input is reported. After damage
/// nothing is left. After wrong options only shards that an earlier call had finished are left.
///
/// Errors: those of `RecordSource` and `DatasetWriter`;
///   - `empty_input` without a source, or without a record in any source;
///   - `invalid_option`, also if sources, or the shards of one source, differ in records or
///     classes;
///   - `state_mismatch` if an unfinished conversion there has other input or options, or another
///     number of parts; the message names the difference;
///   - `busy`; `boost::system::errc::operation_canceled`.
/// Cost:   memory does not grow with the size of the input, except for the file names of a folder
///         and one line per shard.
DOVETAIL_EXPORT Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options);

/// Merges the parts that were converted to `folder` into a dataset, or into the datasets of a
/// split. They appear in one step, as with `convert`. If it was interrupted, call it again.
///
/// Errors: `unfinished` naming the missing part or shard; `manifest_mismatch` if parts were
///         converted from other input or with other options; `already_exists` and `invalid_option`
///         as `DatasetWriter`; `busy`; `empty_input` without parts, or without a record in any
///         part.
DOVETAIL_EXPORT Result<ConvertReport> merge(const std::string& folder, bool overwrite = false);

}  // namespace dovetail
