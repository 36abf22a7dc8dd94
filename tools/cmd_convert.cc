// SPDX-License-Identifier: Apache-2.0
// `dovetail convert`: packs files of other formats into a dataset.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/tfrecord_export.h>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/try.h"
#include "format/words/convert_words.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/interrupt.h"
#include "tools/command/json.h"
#include "tools/command/messages.h"
#include "tools/command/progress.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"
#include "tools/conversion_report.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

namespace {

struct ConvertArguments {
  std::string folder;
  std::string dataset_id;
  std::vector<std::string> metadata;
  std::string schema;
  std::optional<std::string> split;
  std::optional<std::string> part;
  std::optional<std::string> tfrecord_target;
  std::optional<TfrecordCompression> compression;
  std::string range = ":";
  std::optional<std::string> classes;
  std::string delimiter;
  std::vector<std::string> types;
  std::vector<std::string> nulls;
  bool no_header = false;
  ConvertOptions convert;
  bool no_resume = false;
  bool json = false;
  std::vector<Flag> of_datasets = {};  ///< Flags without an effect on TFRecord files.
};

/// Reads class names, one per line.
Result<std::vector<std::string>> read_classes(const std::string& file) {
  constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
  DOVETAIL_ASSIGN(const std::string text, read_text(file, kMaxFileBytes, "a list of classes"));
  std::vector<std::string> classes;
  std::istringstream lines(std::string(format::without_byte_order_mark(text)));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    classes.push_back(std::move(line));
  }
  if (classes.empty()) return Error(Errc::invalid_option, "there must be a class in each line").in_file(file);
  return classes;
}

Result<void> complete_source(const ConvertArguments& arguments, SourceOptions& source) {
  DOVETAIL_ASSIGN(const IdRange range, parse_range(arguments.range));
  source.first = range.first;
  source.end = range.end;
  if (arguments.classes) {
    DOVETAIL_ASSIGN(source.classes, read_classes(*arguments.classes));
  }
  source.csv.header = !arguments.no_header;
  const bool tab = arguments.delimiter == "\\t" || arguments.delimiter == "tab";
  if (!tab && arguments.delimiter.size() > 1) {
    return Error(Errc::invalid_option, "--csv-delimiter " + arguments.delimiter + ": it must be one character, or tab");
  }
  if (!arguments.delimiter.empty()) source.csv.delimiter = tab ? '\t' : arguments.delimiter.front();
  source.csv.nulls.insert(source.csv.nulls.end(), arguments.nulls.begin(), arguments.nulls.end());
  for (const std::string& pair : arguments.types) {
    const std::size_t equals = pair.rfind('=');
    const std::string word = equals == std::string::npos ? std::string() : pair.substr(equals + 1);
    const auto type = format::value_of(format::kColumnTypeWords, word);
    if (!type) {
      return Error(Errc::invalid_option,
                   "--csv-type " + pair + ": it must be COLUMN=bytes, COLUMN=int64 or COLUMN=real");
    }
    source.csv.types[pair.substr(0, equals)] = *type;
  }
  return {};
}

Result<void> complete(ConvertArguments& arguments) {
  ConvertOptions& options = arguments.convert;
  DOVETAIL_TRY(complete_source(arguments, options.source));
  options.resume = !arguments.no_resume;
  DOVETAIL_ASSIGN(options.writer.shard.dataset_id, dataset_id_of(arguments.dataset_id));
  options.infer_schema = arguments.schema == "infer";
  if (!arguments.schema.empty() && !options.infer_schema) {
    DOVETAIL_ASSIGN(options.writer.shard.schema, parse_schema(arguments.schema));
  }
  for (const std::string& pair : arguments.metadata) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error(Errc::invalid_option, "--meta " + pair + ": it must be KEY=VALUE");
    }
    options.writer.shard.metadata[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (arguments.split) {
    DOVETAIL_ASSIGN(options.split, parse_split(*arguments.split));
  }
  if (arguments.part) {
    DOVETAIL_ASSIGN(options.part, parse_part(*arguments.part));
  }
  return {};
}

// The length of a stream is unknown while it is read.
void show(Progress& progress, const ConvertProgress& done) {
  const bool planned = done.input_total > 0;
  progress.update(done.records, planned ? done.raw_bytes : done.input_bytes, planned ? done.share : -1.0);
}

Result<ConvertSummary> convert_with_progress(ConvertArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Progress progress("packing");
  arguments.convert.progress = [&progress](const ConvertProgress& done) {
    show(progress, done);
    return !interrupted();
  };
  DOVETAIL_ASSIGN(ConvertReport report, convert(arguments.folder, arguments.convert));
  ConvertSummary summary;
  summary.report = std::move(report);
  summary.part = arguments.convert.part;
  for (const SplitShare& share : arguments.convert.split) summary.names.push_back(share.name);
  summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return summary;
}

// Refuses flags that the chosen kind of output ignores.
Result<void> check_target(const ConvertArguments& arguments) {
  const ConvertOptions& options = arguments.convert;
  if (arguments.folder.empty() != arguments.tfrecord_target.has_value()) {
    return Error(Errc::invalid_option, "give either --to DIR or --to-tfrecord PATH");
  }
  if (!arguments.tfrecord_target) {
    if (!arguments.compression) return {};
    return Error(Errc::invalid_option, "--compression is for --to-tfrecord; the blocks of a dataset have --codec");
  }
  if (options.shuffle_seed || arguments.split || arguments.part) {
    return Error(
        Errc::invalid_option,
        "--shuffle, --split and --part need --to; to get TFRecord files, export the dataset with --to-tfrecord");
  }
  for (const Flag& flag : arguments.of_datasets) {
    if (!flag.given()) continue;
    return Error(Errc::invalid_option, flag.name() +
                                           " is for datasets and has no effect on TFRecord files; leave it out, "
                                           "or use --to");
  }
  return {};
}

// Records that a conversion or an export skipped.
template <class Report>
void warn_of_skips(const Report& report) {
  std::uint64_t shown = 0;
  for (const SkippedRecord& record : report.first_skipped) {
    const std::string what = record.rest_of_file ? "skipped the rest of the file: " : "skipped: ";
    const std::string many = record.records == 1 ? "" : " (" + format::count_of(record.records, "record") + ")";
    warn(what + record.error.to_string() + many);
    shown += record.records;
  }
  if (report.skipped > shown) {
    warn("and " + std::to_string(report.skipped - shown) + " more");
  }
}

Result<TfrecordExportReport> export_with_progress(const ConvertArguments& arguments) {
  TfrecordExportOptions options = export_options(arguments.convert);
  options.compression = arguments.compression;
  Progress progress("exporting");
  options.progress = [&progress](const ConvertProgress& done) {
    show(progress, done);
    return !interrupted();
  };
  return export_tfrecords(*arguments.tfrecord_target, options);
}

// Both print once the line of progress is gone.
Result<int> run_export(const ConvertArguments& arguments) {
  DOVETAIL_ASSIGN(const TfrecordExportReport report, export_with_progress(arguments));
  warn_of_skips(report);
  return print(arguments.json ? to_line(to_json(report)) : to_text(report));
}

Result<int> run_conversion(ConvertArguments& arguments) {
  DOVETAIL_ASSIGN(const ConvertSummary summary, convert_with_progress(arguments));
  warn_of_skips(summary.report);
  return print(arguments.json ? to_line(to_json(summary)) : to_text(summary));
}

Result<int> run(ConvertArguments& arguments) {
  DOVETAIL_TRY(check_target(arguments));
  DOVETAIL_TRY(complete(arguments));
  catch_interrupts();
  return arguments.tfrecord_target ? run_export(arguments) : run_conversion(arguments);
}

void add_layout_arguments(Flags& flags, ConvertArguments& arguments) {
  ConvertOptions& options = arguments.convert;
  std::vector<Flag>& of_datasets = arguments.of_datasets;
  WriterOptions& shard = options.writer.shard;
  const Flag shards =
      flags.add("--shards", options.shards, "Number of shards of about equal size; 0 follows from --shard-bytes");
  of_datasets.push_back(
      flags.add_size("--shard-bytes", options.writer.shard_bytes, "Target size of the records of a shard, in bytes")
          .preset("256M")
          .excludes(shards));
  of_datasets.push_back(flags.add_choice("--codec", shard.codec, format::kCodecWords,
                                         "Compression of blocks, used where it saves enough"));
  of_datasets.push_back(
      flags.add("--codec-level", shard.codec_level, "Level of --codec zstd, 1 (fastest) to 19 (smallest)"));
  of_datasets.push_back(
      flags.add_size("--block-bytes", shard.block_bytes, "Target size of the records of a block, in bytes")
          .preset("64K"));
  of_datasets.push_back(
      flags.add_size("--run-bytes", shard.run_bytes, "Target size of a run, the unit of reading, in bytes")
          .preset("64K"));
  of_datasets.push_back(flags.add("--run-records", shard.run_records, "Records per run; 0 follows from --run-bytes"));
}

void add_source_arguments(Flags& flags, ConvertArguments& arguments) {
  SourceOptions& source = arguments.convert.source;
  flags.add_choice("--records", source.records, format::kRecordFormWords,
                   "Form of records: raw bytes, or tf.train.Examples with one feature per part");
  flags.add("--labels", source.labels, "For folders: make Examples with path and subfolder (class) of each file");
  flags
      .add("--classes", arguments.classes,
           "With --labels: file with one class per line, in the order of their numbers; default: the subfolders, "
           "bytewise")
      .shown_as("FILE");
  flags
      .add("--include", source.include,
           "For folders: take only matching names, or paths if it has a slash; may be given several times")
      .shown_as("GLOB");
  flags
      .add("--exclude", source.exclude, "For folders: leave out matching files and folders; may be given several times")
      .shown_as("GLOB");
  flags.add_choice("--on-error", source.on_error, format::kOnErrorWords,
                   "Action for a record that cannot be read; skipped records are counted");
  flags.add("--csv-delimiter", arguments.delimiter, "One character, or tab; default: comma, or tab for .tsv")
      .shown_as("CHAR");
  flags.add("--csv-no-header", arguments.no_header, "The first row is data; columns are named c0, c1, ...");
  flags.add("--csv-type", arguments.types, "Type of a column: bytes, int64 or real; may be given several times")
      .shown_as("COLUMN=TYPE");
  flags
      .add("--csv-null", arguments.nulls,
           "A value that means a missing number, as NA, N/A, n/a, #N/A, <NA>, NULL, null and None do; may be given "
           "several times")
      .shown_as("VALUE");
  flags.add("--range", arguments.range, "For datasets: records A:B, B not included; A: and :B work too")
      .shown_as("A:B");
  flags.add("--sample", source.sample, "For datasets: take about this fraction of the records, 0 to 1, chosen by id")
      .preset("1");
  flags.add("--sample-seed", source.sample_seed, "Seed of --sample; another seed chooses other records");
}

void add_order_arguments(Flags& flags, ConvertArguments& arguments) {
  ConvertOptions& options = arguments.convert;
  flags.add("--shuffle", options.shuffle_seed, "Shuffle all records with this seed").shown_as("SEED");
  arguments.of_datasets.push_back(
      flags
          .add_size("--memory", options.memory_bytes,
                    "Memory for the records of a shuffle, in bytes, for all threads together")
          .preset("1G"));
  flags
      .add("--split", arguments.split,
           "Make one dataset per share, such as train=0.9,val=0.1; assigned by the key of each record")
      .shown_as("NAME=SHARE,...");
  arguments.of_datasets.push_back(
      flags.add("--split-seed", options.split_seed, "Seed of --split; another seed splits differently"));
  flags
      .add("--part", arguments.part,
           "Convert only the shards of process I of N; auto: from the launcher; then run `dovetail merge`")
      .shown_as("I/N|auto");
}

}  // namespace

void add_convert(CommandLine& line) {
  const auto arguments = std::make_shared<ConvertArguments>();
  ConvertOptions& options = arguments->convert;
  WriterOptions& shard = options.writer.shard;
  Flags flags = line.subcommand(
      "convert", "Pack TFRecords, tars, text, tables, folders of files and other datasets into a dataset",
      {"dovetail convert images --labels --shuffle 1 --to photos",
       "dovetail convert data --to-tfrecord tfrecords --compression gzip"},
      [arguments] { return run(*arguments); });
  flags.add("SRC", options.sources, "Files and folders, read in this order; - is standard input").required();
  flags.add("--to", arguments->folder, "Folder of the dataset; renamed from DIR.partial when all is written")
      .shown_as("DIR");
  flags
      .add("--to-tfrecord", arguments->tfrecord_target,
           "Write TFRecord files instead: a single file, or a folder with one per shard; SRC may be a dataset")
      .shown_as("PATH");
  flags.add_choice("--compression", arguments->compression, format::kTfrecordCompressionWords,
                   "Compression of TFRecord files; by default that of a single file's name, else none");
  add_from(flags, options.from, "Format of the sources");
  std::vector<Flag>& of_datasets = arguments->of_datasets;
  of_datasets.push_back(
      flags.add("--record-type", shard.record_type, "Description of a record, kept in the metadata").shown_as("TEXT"));
  of_datasets.push_back(flags.add("--meta", arguments->metadata, "Pair for the metadata; may be given several times")
                            .shown_as("KEY=VALUE"));
  of_datasets.push_back(
      flags
          .add("--schema", arguments->schema,
               "Schema of the columns that features become, such as \"image:u8[28,28,1], label:i64\"; infer: derive "
               "it by reading the sources once more")
          .shown_as("COLUMNS"));
  of_datasets.push_back(add_dataset_id(flags, arguments->dataset_id));
  flags.add_size("--max-record-bytes", shard.max_record_bytes, "Longest accepted record, in bytes").preset("4G - 1");
  flags.add("--overwrite", shard.overwrite, "Replace an existing dataset, or the files of an export");
  of_datasets.push_back(flags.add("--no-resume", arguments->no_resume,
                                  "Discard the remains of an earlier conversion, and leave nothing behind"));
  flags.add("--jobs", options.jobs, "Threads; 0 uses all cores");
  add_json(flags, arguments->json);
  flags.group("How sources are read");
  add_source_arguments(flags, *arguments);
  flags.group("Packing");
  add_layout_arguments(flags, *arguments);
  flags.group("Order and splitting");
  add_order_arguments(flags, *arguments);
}

}  // namespace dovetail::tools
