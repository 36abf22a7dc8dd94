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
#include <dovetail/record_source.h>

namespace dovetail {

/// How a TFRecord file is compressed as a whole; these are the ones that TensorFlow reads.
enum class TfrecordCompression : std::uint8_t {
  none,
  gzip,    ///< One member; option "GZIP" of TensorFlow.
  zlib,    ///< One stream; "ZLIB".
  snappy,  ///< TensorFlow's own framing, in blocks that it can read whatever a record's size; "SNAPPY".
};

/// "none", "gzip", "zlib" or "snappy".
std::string_view to_string(TfrecordCompression compression) noexcept;

struct TfrecordExportOptions {
  /// One Dovetail dataset, as `Dataset::open` takes it, or any number of sources of other formats.
  std::vector<std::string> sources = {};
  SourceFormat from = SourceFormat::detect;  ///< Of sources that are no dataset.
  /// How they are read; `format` is `from`. A range or a sample of a dataset is taken too.
  SourceOptions source = {};
  /// Where it is not given, what the name of a single file says (`.gz`, `.zlib`, `.snappy`), else none.
  std::optional<TfrecordCompression> compression = {};
  /// Files to write. 0 writes one for each shard of a dataset, and one in all for other sources.
  std::uint32_t files = 0;
  /// Replaces the files of these names; nothing else is removed. Files of another export beside them are refused.
  bool overwrite = false;
  /// Threads, each of which writes one file at a time; 0 takes the cores of the machine.
  unsigned jobs = 0;
  /// As in `ConvertOptions`. `input_bytes` and `input_total` are records where the source is a dataset.
  std::function<bool(const ConvertProgress&)> progress = {};
};

struct TfrecordExportReport {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;     ///< Of the records.
  std::uint64_t stored_bytes = 0;  ///< Of the files.
  std::vector<std::string> files;  ///< Their paths.
  /// As in `ConvertReport`.
  std::uint64_t skipped = 0;
  std::vector<SkippedRecord> first_skipped = {};
};

/// Writes records in their order as TFRecord files.
///
/// A `target` whose name is that of a TFRecord file becomes one file; any other is a folder, which is made, for files
/// `data-NNNNN-of-NNNNN.tfrecord`, with `.gz`, `.zlib` or `.snappy` behind it. All files get their names at the end.
///
/// Errors: those of `Dataset::open`, `RecordReader` or `RecordSource`; `already_exists`; `invalid_option`, also where the name
///         of the only file promises another compression than is asked for;
///         `empty_input` without a source; `operation_canceled`. After any of them no file is left, but where `overwrite` is set
///         and files that were there are gone already: then what has its name stays, and partial files say what is missing.
/// Cost:   memory for about one block and one record per thread.
Result<TfrecordExportReport> export_tfrecords(const std::string& target, const TfrecordExportOptions& options);

}  // namespace dovetail
