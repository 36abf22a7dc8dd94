// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

namespace dovetail {

/// How far a conversion is.
struct ConvertProgress {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;    ///< Of the records.
  std::uint64_t input_bytes = 0;  ///< Read so far, as stored.
  std::uint64_t input_total = 0;
};

/// What is converted, and into what.
struct ConvertOptions {
  /// Files and folders; their records follow each other in this order.
  std::vector<std::string> sources = {};
  SourceFormat from = SourceFormat::detect;
  /// `shard.max_record_bytes` limits what is read as well. An empty `shard.record_type` becomes "tfrecord", "file" or
  /// "line" where all sources are of one format.
  DatasetWriterOptions writer = {};
  /// Exactly this many shards, of about equal shares of the input: record r goes to shard b * shards / t, where b of
  /// all t input bytes lie before it. The order of the records is kept, and some shards may be empty. Up to
  /// `kMaxShards`; 0 means that `writer` decides.
  std::uint32_t shards = 0;
  /// Called after each record, so it should return at once; false cancels.
  std::function<bool(const ConvertProgress&)> progress = {};
};

/// What `convert` did.
struct ConvertReport {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t files = 0;            ///< Input files.
  std::vector<SourceFormat> formats;  ///< Of each source.
  DatasetInfo dataset;
};

/// Packs sources of other formats into a dataset, in one pass.
///
/// Errors: those of `RecordSource` and `DatasetWriter`; `empty_input` where there is no source, or no record in any;
///         `invalid_option`; `boost::system::errc::operation_canceled`. After any of them no file of the dataset is
///         left.
/// Cost:   memory does not grow with the size of the input, but for the names of a folder's files.
Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options);

}  // namespace dovetail
