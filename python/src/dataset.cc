// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <dovetail/record_reader.h>
#include <pybind11/stl.h>

#include "format/address.h"
#include "python/src/arrow.h"
#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/option_table.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// An absolute path, so that shards are found even if the working folder changes before they are
/// opened. Two paths are not changed: a glob in a working folder whose own name has wildcards, and
/// an address, which the library rejects.
std::filesystem::path to_open(const std::filesystem::path& path) {
  constexpr const char* kWildcards = "*?[";
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::current_path(failed);
  const bool misread = path.native().find_first_of(kWildcards) != std::string::npos &&
                       folder.native().find_first_of(kWildcards) != std::string::npos;
  return path.empty() || failed || misread || format::is_address(path.native()) ? path : folder / path;
}

Dataset open_dataset(const py::object& path_given, const py::object& allow_outside, const py::object& threads_asked) {
  if (PyList_Check(path_given.ptr()) != 0 || PyTuple_Check(path_given.ptr()) != 0) {
    throw py::type_error(
        "path must be a str, bytes or os.PathLike, not " + type_name(path_given) +
        "; dovetail.Dataset.join([dovetail.Dataset(path) for path in paths]) makes one dataset of several");
  }
  const std::filesystem::path path = to_path("path", path_given);
  const DatasetOptions options{.allow_outside = to_option<bool>("allow_outside", allow_outside),
                               .threads = to_option<unsigned>("threads", threads_asked)};
  const Unlocked unlocked;
  return Dataset::open(to_open(path).string(), options).value();
}

Dataset join(const py::object& given) {
  constexpr const char* kDatasets = "a list of Dataset objects";
  std::vector<Dataset> datasets;
  for (const py::object& each : to_items("datasets", given, kDatasets)) {
    if (!py::isinstance<Dataset>(each)) {
      throw py::type_error(std::string("datasets must be ") + kDatasets + ", not " + type_name(each));
    }
    datasets.push_back(each.cast<Dataset>());
  }
  const Unlocked unlocked;  // it reads the metadata of each dataset
  return Dataset::join(datasets).value();
}

py::tuple locate(const Dataset& dataset, const py::object& id) {
  const py::object number = whole_number("id", id);
  if (number < py::int_(0)) {  // negative ids do not count from the end
    throw py::index_error("record " + std::string(py::repr(number)) + " of " + std::to_string(dataset.records()));
  }
  const Dataset::Place place = dataset.locate(to_place("record", number, dataset.records()));
  return py::make_tuple(place.shard, place.record);
}

/// The schema that all shards name; empty if they name none, or different ones.
std::optional<Schema> named_schema(const Dataset& dataset) {
  const Unlocked unlocked;  // the call opens a shard
  Result<Schema> found = dataset.schema();
  if (found.has_value()) return std::move(*found);
  if (found.error().kind() == ErrorKind::usage) return std::nullopt;
  throw Exception(found.error());
}

std::optional<std::string> schema(const Dataset& dataset) {
  const std::optional<Schema> found = named_schema(dataset);
  return found.has_value() ? std::optional(to_text(*found)) : std::nullopt;
}

py::dict metadata(const Dataset& dataset) {
  const auto found = [&] {
    const Unlocked unlocked;
    if (dataset.shards().empty()) return std::map<std::string, std::string>();
    return describe_shard(dataset.shard_path(0)).value().metadata;
  }();
  py::dict texts;
  for (const auto& [name, text] : found) texts[message_text(name)] = message_text(text);
  return texts;
}

/// Called by a DataLoader, for example.
void refuse_item(const Dataset&, const py::object&) {
  refuse(
      "a Dataset has no records by number, but dovetail.open(dataset) does; for a DataLoader use "
      "dovetail.torch.BatchDataset, in DataLoader(dataset, batch_size=None, num_workers=0)");
}

void refuse_iteration(const Dataset&) {
  throw py::type_error(
      "a Dataset is not iterable; iterate over dovetail.open(dataset) for its records, or over a dovetail.Reader "
      "for batches");
}

py::list shard_paths(const Dataset& dataset) {
  py::list paths;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard)
    paths.append(path_text(dataset.shard_path(shard)));
  return paths;
}

}  // namespace

void bind_dataset(py::module_& module) {
  py::class_<ShardInfo>(
      module, "ShardInfo",
      R"(The entry of a shard in a manifest. Its bytes are raw (before compression), stored (in blocks), or of the file.)")
      .def_property_readonly(
          "name", [](const ShardInfo& info) { return path_text(info.name); }, R"(Its path, relative to the manifest.)")
      .def_readonly("records", &ShardInfo::records, R"(Records in it.)")
      .def_readonly("blocks", &ShardInfo::blocks, R"(Blocks in it.)")
      .def_readonly("run_records", &ShardInfo::run_records, R"(Records of a run.)")
      .def_readonly("raw_bytes", &ShardInfo::raw_bytes, R"(Bytes of all records.)")
      .def_readonly("stored_bytes", &ShardInfo::stored_bytes, R"(Bytes of all blocks, as stored.)")
      .def_readonly("file_bytes", &ShardInfo::file_bytes, R"(Bytes of the file.)")
      .def_readonly("min_record_bytes", &ShardInfo::min_record_bytes, R"(Bytes of its smallest record.)")
      .def_readonly("max_record_bytes", &ShardInfo::max_record_bytes, R"(Bytes of its largest record.)")
      .def_readonly("fingerprint", &ShardInfo::fingerprint, R"(64 bits that identify its content.)")
      .def("__repr__", [](const ShardInfo& info) {
        return message_text("<ShardInfo \"" + info.name + "\", " + std::to_string(info.records) + " records>");
      });

  py::class_<Dataset>(module, "Dataset", R"(Ordered shards: the input of readers and plans.

Args:
    path: a shard, a TFRecord file with its index, a folder with a manifest, a manifest, or a glob.
    allow_outside: whether a manifest may name files outside its folder.
    threads: that look at the ends of shards where there is no manifest; 0 chooses.

Raises:
    MissingFileError, StorageError, DamagedError, UsageError: with the file.)")
      .def(py::init(&open_dataset), py::arg("path"), py::kw_only(), py::arg("allow_outside") = false,
           py::arg("threads") = 0)
      .def_static("join", join, py::arg("datasets"), R"(Concatenates datasets; `mix` weighs them.

Errors: UsageError, also for datasets that number their classes differently.)")
      .def_property_readonly(
          "path", [](const Dataset& dataset) { return path_text(dataset.path()); },
          R"(The absolute path that was opened.)")
      .def_property_readonly("has_manifest", &Dataset::has_manifest, R"(Whether a manifest names the shards.)")
      .def_property_readonly("raw_bytes", &Dataset::raw_bytes, R"(Bytes of all records.)")
      .def_property_readonly(
          "fingerprint", [](const Dataset& dataset) { return dataset.fingerprint().to_hex(); },
          R"(32 hex digits that identify the content.)")
      .def_property_readonly("schema", schema,
                             R"(The columns that all shards name, as text; None if they name none, or differ.)")
      .def_property_readonly(
          "metadata", metadata,
          R"(The texts by name that the writer left in the first shard, as a dict; reads them from the shard.)")
      .def_property_readonly(
          "shards",
          [](const Dataset& dataset) {
            return std::vector<ShardInfo>(dataset.shards().begin(), dataset.shards().end());
          },
          R"(A `ShardInfo` for each.)")
      .def_property_readonly("shard_paths", shard_paths, R"(The paths of their files.)")
      .def("describe", describe_dataset,
           R"(What its shards say of themselves, and which features its first records have: a `DatasetDescription`.

Opens every shard, and reads the first 64 records. Ctrl-C ends it soon.

Raises:
    MissingFileError, StorageError, DamagedError: for a shard that cannot be read, or is not the one of the manifest.)")
      .def("features", describe_features, py::kw_only(), py::arg("threads") = 0, py::arg("max_records") = 0,
           R"(Statistics of the features of its tf.train.Examples, from one pass over all records: a `FeaturesReport`.

    report = dataset.features()
    print(report)                       # a table
    report["label"].top                 # ((7, 6265), ...)
    dovetail.Reader(dataset, batch=64, columns=report.columns)

Damaged blocks are left out and counted. Ctrl-C ends it soon.

Args:
    threads: up to 8; 0 uses all cores.
    max_records: reads blocks at equal distances with about so many records in total; 0 reads all.

Raises:
    MissingFileError, StorageError, UsageError: for a shard that cannot be opened.)")
      .def(
          "__arrow_c_stream__",
          [](const Dataset& dataset, const py::object&) { return to_arrow_stream(dataset, named_schema(dataset)); },
          py::arg("requested_schema") = py::none(),
          R"(All records in their order for readers of Arrow, in the columns that the dataset names, else as "record".)")
      .def("locate", locate, py::arg("id"),
           R"((shard, record in the shard) of a record of the dataset. Errors: IndexError.)")
      .def("__len__", &Dataset::records)
      .def("__getitem__", refuse_item, py::arg("i"))
      .def("__iter__", refuse_iteration)
      .def("__repr__", [](const Dataset& dataset) {
        return message_text("<Dataset \"" + dataset.path() + "\", " + std::to_string(dataset.records()) + " records>");
      });
}

}  // namespace dovetail::python
