// SPDX-License-Identifier: Apache-2.0
// Long jobs over whole datasets.
#include <dovetail/convert.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/tfrecord_export.h>
#include <pybind11/stl.h>

#include "format/text/visible.h"
#include "format/words/convert_words.h"
#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/interruptible.h"
#include "python/src/option_table.h"
#include "python/src/text.h"
#include "python/src/writer_options.h"

namespace dovetail::python {

namespace {

constexpr const char* kConvertDoc =
    R"(Packs sources of other formats into a dataset. Stopped anywhere, the same call goes on where it was.

Args:
    sources: files and folders, or one path; their records follow each other.
    folder: of the dataset, which appears as a whole; until then all is in the folder with ".partial" after its name.
    progress: called now and then with (share done, records, raw bytes), from another thread; False cancels, and what it
        raises is raised.
    format: "detect", "tfrecord", "folder", "lines", "jsonl", "tar", "csv", "mds", "recordio", "idx" or "dovetail".
    records: "automatic", "raw" or "example": tf.train.Examples, whose features become columns.
    on_error: "fail" or "skip".
    labels: whether the folders of files are their labels.
    classes: names of labels in the order of their numbers; by default those there are, in bytewise order.
    include: patterns of the files of a folder that are taken, by name, or with a slash by path.
    exclude: patterns of the files of a folder that are left out.
    csv_delimiter: one character; by default a comma, and a tab for .tsv.
    csv_header: whether the first row names the columns.
    csv_types: "bytes", "int64" or "real" by the name of a column; by default as the values are.
    csv_nulls: values that mean a missing number, besides NA, N/A, n/a, #N/A, <NA>, NULL, null and None.
    range: (first, end), only these records of a dataset.
    sample: the share of the records of a dataset that is kept.
    sample_seed: selects them.
    shards: exactly so many; 0 goes by shard_bytes.
    shuffle_seed: shuffles all records.
    split: "train=0.9,val=0.1" makes a dataset of each share.
    split_seed: deals the records to the shares.
    part: (number, parts), only those shards, for `merge`.
    jobs: threads that read, and threads that encode; 0 uses all cores.
    memory_bytes: for the records of a shuffle.
    resume: whether what an earlier call left is continued.
    shard_bytes: raw bytes after which a shard is closed.
    schema: the columns that features become; "infer" reads the sources once more for them.
)";

constexpr const char* kConvertResults = R"(
Returns:
    A `ConvertReport`.

Raises:
    DamagedError: for a source that is not what it promises, with file and offset.
    UsageError, StorageError, CancelledError: with the file.
    BusyError: where another call works on it.)";

constexpr const char* kExportDoc =
    R"(Writes records in their order as TFRecord files, as `dovetail convert --to-tfrecord` does.

`convert` describes the options that are not listed here.

Args:
    sources: one dataset, or files and folders of other formats.
    target: a name that ends as TFRecord files do makes one file; any other is a folder for several.
    compression: "none", "gzip", "zlib" or "snappy"; by default as the name of a single file ends.
    overwrite: replaces existing files of these names.
    shards: how many files; by default one for each shard of a dataset, and one for other sources.
    max_record_bytes: of the longest record that is accepted.

Returns:
    An `ExportReport`. Ctrl-C, or an error, leaves no file.

Raises:
    UsageError, DamagedError, StorageError: with the file.
    CancelledError: where `progress` returns False.)";

void set_csv_delimiter(ConvertOptions& options, const char* name, py::handle given) {
  const auto text = to_option<std::string>(name, given);
  if (text.size() != 1) refuse(std::string(name) + " must be one character");
  options.source.csv.delimiter = text.front();
}

void set_csv_types(ConvertOptions& options, const char* name, py::handle given) {
  if (!py::isinstance<py::dict>(given)) {
    throw py::type_error(std::string(name) + " must be a dict of strings, not " + type_name(given));
  }
  options.source.csv.types.clear();
  for (const auto& [column, type] : py::reinterpret_borrow<py::dict>(given)) {
    options.source.csv.types.emplace(to_utf8("a name in csv_types", column),
                                     from_word("a type in csv_types", type, format::kColumnTypeWords));
  }
}

void set_schema(ConvertOptions& options, const char* name, py::handle given) {
  const auto text = to_option<std::string>(name, given);
  options.infer_schema = text == "infer";
  if (!options.infer_schema) options.writer.shard.schema = parse_schema(text).value();
}

void set_split(ConvertOptions& options, const char* name, py::handle given) {
  options.split = parse_split(to_option<std::string>(name, given)).value();
}

template <class T>
std::pair<T, T> to_pair(const char* name, py::handle given, const std::string& numbers) {
  const std::string what = "two numbers, " + numbers;
  const std::vector<py::object> pair = to_items(name, given, what);
  if (pair.size() != 2) throw py::type_error(std::string(name) + " must be " + what);
  return {to_option<T>(name, pair[0]), to_option<T>(name, pair[1])};
}

void set_part(ConvertOptions& options, const char* name, py::handle given) {
  const auto [number, parts] = to_pair<std::uint32_t>(name, given, "(number, parts)");
  options.part = ConvertPart{.number = number, .parts = parts};
}

void set_range(ConvertOptions& options, const char* name, py::handle given) {
  const auto [first, end] = to_pair<std::uint64_t>(name, given, "(first, end)");
  options.source.first = first;
  options.source.end = end;
}

/// Options that `convert` and `export_tfrecords` share.
constexpr OptionSetter<ConvertOptions> kSourceSetters[] = {
    {"format", set_word<format::kSourceFormatWords, &ConvertOptions::from>},
    {"records", set_word<format::kRecordFormWords, &ConvertOptions::source, &SourceOptions::records>},
    {"on_error", set_word<format::kOnErrorWords, &ConvertOptions::source, &SourceOptions::on_error>},
    {"labels", set_field<&ConvertOptions::source, &SourceOptions::labels>},
    {"classes", add_texts<&ConvertOptions::source, &SourceOptions::classes>},
    {"include", add_texts<&ConvertOptions::source, &SourceOptions::include>},
    {"exclude", add_texts<&ConvertOptions::source, &SourceOptions::exclude>},
    {"csv_delimiter", set_csv_delimiter},
    {"csv_header", set_field<&ConvertOptions::source, &SourceOptions::csv, &CsvOptions::header>},
    {"csv_types", set_csv_types},
    {"csv_nulls", add_texts<&ConvertOptions::source, &SourceOptions::csv, &CsvOptions::nulls>},
    {"range", set_range},
    {"sample", set_field<&ConvertOptions::source, &SourceOptions::sample>},
    {"sample_seed", set_field<&ConvertOptions::source, &SourceOptions::sample_seed>},
    {"shards", set_field<&ConvertOptions::shards>},
    {"jobs", set_field<&ConvertOptions::jobs>},
};

constexpr OptionSetter<ConvertOptions> kConvertSetters[] = {
    {"schema", set_schema},
    {"shard_bytes", set_field<&ConvertOptions::writer, &DatasetWriterOptions::shard_bytes>},
    {"shuffle_seed", set_field<&ConvertOptions::shuffle_seed>},
    {"split", set_split},
    {"split_seed", set_field<&ConvertOptions::split_seed>},
    {"part", set_part},
    {"memory_bytes", set_field<&ConvertOptions::memory_bytes>},
    {"resume", set_field<&ConvertOptions::resume>},
};

/// The only option of the writer that an export has.
constexpr OptionSetter<ConvertOptions> kExportSetters[] = {
    {"max_record_bytes",
     set_field<&ConvertOptions::writer, &DatasetWriterOptions::shard, &WriterOptions::max_record_bytes>},
};

void set_options(ConvertOptions& options, const py::dict& given) {
  for (const auto& [key, value] : given) {
    const std::string name = option_name(key);
    const bool known = set_option<ConvertOptions>(kSourceSetters, options, name, value) ||
                       set_option<ConvertOptions>(kConvertSetters, options, name, value) ||
                       set_packing_option(options.writer.shard, name, value);
    if (known) continue;
    refuse_option(key, "progress, " + option_names<ConvertOptions>(kSourceSetters) + ", " +
                           option_names<ConvertOptions>(kConvertSetters) + ", " + packing_option_names());
  }
}

py::dict to_dict(const LeftOut& left_out) {
  py::dict counts;
  const auto add = [&](const char* reason, std::uint64_t count) {
    if (count != 0) counts[reason] = count;
  };
  add("hidden", left_out.hidden);
  add("litter", left_out.litter);
  add("dangling", left_out.dangling);
  add("special", left_out.special);
  add("excluded", left_out.excluded);
  add("unlabelled", left_out.unlabelled);
  return counts;
}

py::object to_object(const ConvertedSource& source) {
  py::list classes;
  for (const std::string& name : source.classes) classes.append(path_text(name));
  py::list columns;
  for (const CsvColumn& column : source.columns) {
    columns.append(py::make_tuple(message_text(column.name), to_string(column.type)));
  }
  return call_object(import_module("dovetail._reports").attr("ConvertedSource"), path_text(source.path),
                     to_string(source.format), to_dict(source.left_out), py::tuple(classes), py::tuple(columns));
}

py::tuple to_tuple(const std::vector<SkippedRecord>& records) {
  py::list errors;
  for (const SkippedRecord& record : records) errors.append(to_exception(record.error));
  return py::tuple(errors);
}

py::object to_object(const ConvertReport& report) {
  const py::object reports = import_module("dovetail._reports");
  py::list formats;
  for (const SourceFormat format : report.formats) formats.append(to_string(format));
  py::list sources;
  for (const ConvertedSource& source : report.sources) sources.append(to_object(source));
  py::list datasets;
  for (const DatasetInfo& dataset : report.datasets) {
    datasets.append(call_object(reports.attr("ConvertedDataset"), path_text(dataset.manifest), dataset.id.to_hex(),
                                py::tuple(py::cast(dataset.shards))));
  }
  py::list notes;
  for (const std::string& note : report.notes) notes.append(message_text(format::visible(note)));
  const py::object schema = report.schema ? py::object(message_text(to_text(*report.schema))) : py::none();
  return call_object(reports.attr("ConvertReport"), report.records, report.raw_bytes, report.input_bytes, report.files,
                     py::tuple(formats), py::tuple(sources), report.shards, report.kept_shards, report.stored_bytes,
                     report.skipped, to_tuple(report.first_skipped), py::tuple(datasets), py::tuple(notes), schema);
}

/// Asks a Python function whether to continue. Keeps an exception that the function raises.
class Progress {
 public:
  explicit Progress(py::object function) : function_(std::move(function)) {}

  bool operator()(const ConvertProgress& progress) {
    if (function_.is_none()) return true;
    const Locked locked;
    try {
      const UserObject answer = call_object(function_, progress.share, progress.records, progress.raw_bytes);
      return !answer.is(py::bool_(false));
    } catch (py::error_already_set& failure) {
      raised_.emplace(failure);
      return false;
    }
  }

  void raise_what_it_raised() {
    if (raised_.has_value()) throw std::move(*raised_);
  }

 private:
  py::object function_;
  std::optional<py::error_already_set> raised_;
};

std::vector<std::string> source_paths(const py::object& sources) {
  std::vector<std::string> paths;
  const bool one =
      PyUnicode_Check(sources.ptr()) || PyBytes_Check(sources.ptr()) || find_attribute(sources, "__fspath__");
  if (one) return {to_path("sources", sources).string()};
  for (const py::object& source : to_items("sources", sources, "a path or a list of paths")) {
    paths.push_back(to_path("a source", source).string());
  }
  return paths;
}

/// Runs a long job that asks a Python function whether to continue.
template <class Options, class Work>
auto run_with_progress(const py::object& asked, Options& options, Work work) {
  if (!asked.is_none() && PyCallable_Check(asked.ptr()) == 0) {
    throw py::type_error("progress must be a function, not " + type_name(asked));
  }
  Progress progress(asked);
  try {
    auto report = run_interruptibly([&](const std::atomic<bool>& cancel) {
      options.progress = [&](const ConvertProgress& at) { return !cancel && progress(at); };
      return work();
    });
    progress.raise_what_it_raised();  // raised by the last call
    return report;
  } catch (const Exception&) {
    progress.raise_what_it_raised();
    throw;
  }
}

py::object convert_sources(const py::object& sources, const py::object& folder_given, const py::object& asked,
                           const py::kwargs& given) {
  ConvertOptions options;
  set_options(options, given);
  options.sources = source_paths(sources);
  const std::filesystem::path folder = to_path("folder", folder_given);
  return to_object(run_with_progress(asked, options, [&] { return convert(folder.string(), options); }));
}

py::object export_sources(const py::object& sources, const py::object& target_given, const py::object& asked,
                          const py::object& compression, const py::object& overwrite, const py::kwargs& given) {
  ConvertOptions read;
  for (const auto& [key, value] : given) {
    const std::string name = option_name(key);
    const bool known = set_option<ConvertOptions>(kSourceSetters, read, name, value) ||
                       set_option<ConvertOptions>(kExportSetters, read, name, value);
    if (known) continue;
    refuse_option(key, "progress, compression, overwrite, " + option_names<ConvertOptions>(kSourceSetters) + ", " +
                           option_names<ConvertOptions>(kExportSetters));
  }
  read.sources = source_paths(sources);
  read.writer.shard.overwrite = to_option<bool>("overwrite", overwrite);
  TfrecordExportOptions options = export_options(read);
  if (!compression.is_none())
    options.compression = from_word("compression", compression, format::kTfrecordCompressionWords);
  const std::filesystem::path target = to_path("target", target_given);
  const TfrecordExportReport report =
      run_with_progress(asked, options, [&] { return export_tfrecords(target.string(), options); });
  py::list files;
  for (const std::string& file : report.files) files.append(path_text(file));
  return call_object(import_module("dovetail._reports").attr("ExportReport"), report.records, report.raw_bytes,
                     report.stored_bytes, py::tuple(files), report.skipped, to_tuple(report.first_skipped));
}

py::object merge_parts(const py::object& folder_given, const py::object& overwrite_given) {
  const std::filesystem::path folder = to_path("folder", folder_given);
  const auto overwrite = to_option<bool>("overwrite", overwrite_given);
  return to_object(run_interruptibly([&](const std::atomic<bool>&) { return merge(folder.string(), overwrite); }));
}

}  // namespace

void bind_conversion(py::module_& module) {
  // A missing target is an error of `to_path`. That of pybind11 would list all sources.
  module.def("convert", convert_sources, py::arg("sources"), py::arg("folder") = py::none(), py::kw_only(),
             py::arg("progress") = py::none(), with_packing_doc(kConvertDoc, kConvertResults).c_str());
  module.def("export_tfrecords", export_sources, py::arg("sources"), py::arg("target") = py::none(), py::kw_only(),
             py::arg("progress") = py::none(), py::arg("compression") = py::none(), py::arg("overwrite") = false,
             kExportDoc);
  module.def("merge", merge_parts, py::arg("folder"), py::kw_only(), py::arg("overwrite") = false,
             R"(Makes one dataset of the parts that were converted to a folder.

Args:
    folder: the one that was given to `convert`.
    overwrite: whether a dataset may be there.

Returns:
    A `ConvertReport`.

Raises:
    DamagedError: where parts are missing or do not fit together; UsageError; BusyError.)");
}

}  // namespace dovetail::python
