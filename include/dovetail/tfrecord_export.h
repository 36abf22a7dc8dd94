// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/record_source.h>

namespace dovetail {

/// Compression of a TFRecord file as a whole. TensorFlow reads all of these.
enum class TfrecordCompression : std::uint8_t {
  none,
  /// One member; TensorFlow's option "GZIP".
  gzip,
  /// One stream; "ZLIB".
  zlib,
  /// TensorFlow's own framing; "SNAPPY". Blocks are small enough for TensorFlow, for records of any
  /// size.
  snappy,
};

/// Returns "none", "gzip", "zlib" or "snappy".
DOVETAIL_EXPORT std::string_view to_string(TfrecordCompression compression) noexcept;

struct DOVETAIL_EXPORT TfrecordExportOptions {
  /// One Dovetail dataset, as `Dataset::open` takes it, or any number of sources of other formats.
  std::vector<std::string> sources = {};
  SourceFormat from = SourceFormat::detect;  ///< For sources that are not a dataset.
  /// How the sources are read. `format` is taken from `from`. A range or a sample of a dataset is
  /// accepted.
  SourceOptions source = {};
  /// Default: what the name of a single file says (`.gz`, `.zlib`, `.snappy`), else none.
  std::optional<TfrecordCompression> compression = {};
  /// Number of files. 0 (default) writes one per shard of a dataset, and a single file for other
  /// sources and for datasets without shards.
  std::uint32_t files = 0;
  /// Replaces existing files of these names; nothing else is removed. Files of another export
  /// beside them are refused.
  bool overwrite = false;
  /// Threads; each writes one file at a time. 0 (default) uses the cores of the machine.
  unsigned jobs = 0;
  /// As in `ConvertOptions`. For a dataset, `input_bytes` and `input_total` count records.
  std::function<bool(const ConvertProgress&)> progress = {};
};

/// Returns the options of an export for those of a conversion: `sources`, `from`, `source`,
/// `shards`, `jobs`, and of the writer's `max_record_bytes` and `overwrite`.
DOVETAIL_EXPORT TfrecordExportOptions export_options(const ConvertOptions& options);

struct DOVETAIL_EXPORT TfrecordExportReport {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;     ///< Bytes of the records.
  std::uint64_t stored_bytes = 0;  ///< Bytes of the files.
  std::vector<std::string> files;  ///< Paths of the files.
  /// As in `ConvertReport`.
  std::uint64_t skipped = 0;
  std::vector<SkippedRecord> first_skipped = {};
};

/// Writes records in their order as TFRecord files.
///
/// If `target` has the name of a TFRecord file, it becomes one file. Any other `target` is a
/// folder, which is created, for files `data-NNNNN-of-NNNNN.tfrecord`, with the suffix `.gz`,
/// `.zlib` or `.snappy` if compressed. All files get their names at the end.
///
/// After an error no file is left. Exception: with `overwrite`, older files may already be removed.
/// Then files that have their names stay, and partial files show what is missing.
///
/// Errors: those of `Dataset::open`, `RecordReader` or `RecordSource`; `already_exists`;
///         `invalid_option`, also if the name of a single file promises another compression than
///         requested; `empty_input` without a source, or if sources other than a dataset have no
///         record; `operation_canceled`.
/// Cost:   memory for about one block and one record per thread.
DOVETAIL_EXPORT Result<TfrecordExportReport> export_tfrecords(const std::string& target,
                                                              const TfrecordExportOptions& options);

}  // namespace dovetail
