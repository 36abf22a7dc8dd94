// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

namespace dovetail {

/// What a source is made of, and so what its records are; docs/sources.md has the details of each. Files of all but
/// `mds`, `folder` and `dovetail` may be compressed as a whole with gzip, Zstandard, bzip2 or xz.
enum class SourceFormat : std::uint8_t {
  detect,    ///< By content; a folder by the names of its files.
  tfrecord,  ///< The records of TFRecord files: also in zlib or TensorFlow's Snappy. Compressions are told by content.
  folder,    ///< Every file below a folder, one record each, in bytewise order of their relative paths.
  lines,     ///< Every line of a text file, without its newline.
  jsonl,     ///< Every line of a text file, each checked to be JSON. Blank lines are none.
  tar,       ///< WebDataset: the consecutive members of a tar that share a key.
  csv,       ///< Every row of a CSV or TSV file.
  mds,       ///< The samples of a MosaicML folder: an `index.json` and its shards, plain, gzip, bzip2 or Zstandard.
  recordio,  ///< The records of MXNet's RecordIO files, each that is plain compared with its `.idx`.
  idx,       ///< The items of IDX files; images together with their labels.
  dovetail,  ///< Records of a shard, a dataset or a glob of shards.
};

/// How the bytes of a file are compressed as a whole.
enum class Compression : std::uint8_t { none, gzip, zlib, snappy, bzip2, zstd, xz };

/// What becomes a record.
enum class RecordForm : std::uint8_t {
  automatic,  ///< As its format suggests: `example` where a record has several parts or a name for them, else `raw`.
  raw,        ///< The bytes as they are in the source.
  example,    ///< A `tf.train.Example`, with a feature for each part.
};

/// What a column of a CSV file becomes.
enum class ColumnType : std::uint8_t { bytes, int64, real };

/// A column of CSV files, as it was given or found.
struct CsvColumn {
  std::string name;
  ColumnType type = ColumnType::bytes;
  bool empty = false;    ///< Whether there is no value in it, so that its type says nothing.
  bool inexact = false;  ///< Of `int64`: whether a float would round a number, so that beside fractions it is `bytes`.

  friend bool operator==(const CsvColumn&, const CsvColumn&) = default;
};

/// What lies in a folder and is no part of its source: how much of it, by why. All below a folder counts once.
struct LeftOut {
  std::uint64_t hidden = 0;      ///< Named with a dot in front.
  std::uint64_t litter = 0;      ///< What systems leave, such as Thumbs.db and lost+found, in either case.
  std::uint64_t dangling = 0;    ///< Links that lead nowhere, as where the content of a tree was not fetched.
  std::uint64_t special = 0;     ///< Links to folders, whatever is asked for; pipes, sockets and devices.
  std::uint64_t excluded = 0;    ///< By `SourceOptions::include` and `exclude`.
  std::uint64_t unlabelled = 0;  ///< With labels: files in no subfolder, which would be their class.

  LeftOut& operator+=(const LeftOut& other) noexcept;
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// "2 hidden files or folders, named with a dot in front; 1 link that leads nowhere"; empty where there is none.
std::string to_string(const LeftOut& left_out);

/// What is done about a record that is damaged or cannot be one.
enum class OnError : std::uint8_t {
  fail,  ///< It is the end.
  skip,  ///< It is left out and counted. Where the next one cannot be found, so is the rest of its file; behind a line or
         ///< row that is too long it can.
};

/// The word of the command line for it, such as "tfrecord".
std::string_view to_string(SourceFormat format) noexcept;
std::string_view to_string(Compression compression) noexcept;
std::string_view to_string(RecordForm form) noexcept;
std::string_view to_string(ColumnType type) noexcept;

/// Something that was left out under `OnError::skip`.
struct SkippedRecord {
  Error error;                       ///< With file, offset and reason.
  std::uint64_t consumed_bytes = 0;  ///< Of the source, before it: which of several ranges it belongs to.
  bool rest_of_file = false;         ///< Whether what follows it in its file was left out as well.
  std::uint64_t records = 1;         ///< In a report: how many the same error took, such as those of a damaged block.
};

/// How CSV files are read.
struct CsvOptions {
  /// 0: a tab where the name says `.tsv`, else a comma; where that leaves one column in whose name another one stands,
  /// it has to be given.
  char delimiter = 0;
  /// Whether the first row names the columns; otherwise they are c0, c1 and so on.
  bool header = true;
  /// By name. For the other columns, unless rows stay raw, all files are read once more, before the first record:
  /// `int64` where all values of all files are whole numbers, `real` where all are numbers and a float rounds none
  /// that is written whole, else `bytes`.
  std::map<std::string, ColumnType> types = {};
};

/// How a source is read.
struct SourceOptions {
  SourceFormat format = SourceFormat::detect;
  /// Longer records are an error.
  std::uint32_t max_record_bytes = 0xFFFFFFFFu;
  RecordForm records = RecordForm::automatic;
  /// A folder's records become Examples with their subfolder as label.
  bool labels = false;
  /// With `labels`: the names of the classes in the order of their numbers; a subfolder that is none of them is an
  /// error. Empty: the subfolders in bytewise order, those of all sources together where a conversion has several.
  std::vector<std::string> classes = {};
  /// Patterns of the files of a folder that are taken (default: all), and of those that are left out: `*` any text, `?` a
  /// byte, `[a-z]` one of a set, `[!a-z]` another. Without a slash for names at any depth, with one for paths below the
  /// source. A folder that matches stands for all below it.
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};
  CsvOptions csv = {};

  // Of a dataset only: records [first, end), and of these the ones that a hash of id and seed keeps.
  std::uint64_t first = 0;
  std::optional<std::uint64_t> end = std::nullopt;
  double sample = 1;
  std::uint64_t sample_seed = 0;

  /// Asked by the reading thread before each piece of a file, of 1 MiB at most, also where no record comes for long:
  /// true ends the source with `operation_canceled`.
  std::function<bool()> cancelled = {};

  OnError on_error = OnError::fail;
  /// Told of what is left out, in order, of each record by itself.
  std::function<void(const SkippedRecord&)> skipped = {};
};

}  // namespace dovetail
