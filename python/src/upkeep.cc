// SPDX-License-Identifier: Apache-2.0
// Operations on packed data: verifying, recovering intact records, indexing TFRecords in place.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <dovetail/record_reader.h>
#include <dovetail/recover.h>
#include <dovetail/tfrecord_index.h>
#include <pybind11/stl.h>

#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/interruptible.h"
#include "python/src/option_table.h"
#include "python/src/text.h"
#include "python/src/writer_options.h"

namespace dovetail::python {

namespace {

py::list damaged_places(const std::vector<LostRange>& ranges) {
  const py::object damage = import_module("dovetail._reports").attr("Damage");
  const py::handle numbers(reinterpret_cast<PyObject*>(&PyRange_Type));
  py::list places;
  for (const LostRange& range : ranges) {
    places.append(call_object(damage, path_text(range.file), range.offset,
                              call_object(numbers, range.first_record, range.end_record), message_text(range.reason)));
  }
  return places;
}

py::tuple path_texts(const std::vector<std::string>& paths) {
  py::list texts;
  for (const std::string& path : paths) texts.append(path_text(path));
  return py::tuple(texts);
}

py::object verify_path(const py::object& path_given, const py::object& threads_asked) {
  const std::filesystem::path path = to_path("path", path_given);
  const auto threads = to_option<unsigned>("threads", threads_asked);
  const VerifyReport report = run_interruptibly([&](const std::atomic<bool>& cancel) {
    return verify(path.string(), threads, [&] { return cancel.load(std::memory_order_relaxed); });
  });
  py::list unreadable;
  for (const Error& error : report.unreadable) unreadable.append(to_exception(error));
  return call_object(import_module("dovetail._reports").attr("VerifyReport"), report.records, report.blocks,
                     py::tuple(damaged_places(report.damaged)), report.damaged_places, py::tuple(unreadable));
}

py::object recover_path(const py::object& source_given, const py::object& target_given, const py::object& overwrite,
                        const py::object& dataset_id, const py::object& allow_outside, const py::object& regions) {
  const std::filesystem::path source = to_path("source", source_given);
  const std::filesystem::path target = to_path("target", target_given);
  RecoverOptions options;
  options.overwrite = to_option<bool>("overwrite", overwrite);
  options.allow_outside = to_option<bool>("allow_outside", allow_outside);
  options.most_regions = to_option<std::uint64_t>("regions", regions);
  if (!dataset_id.is_none()) options.dataset_id = to_dataset_id("dataset_id", dataset_id);
  const RecoverReport report = run_interruptibly([&](const std::atomic<bool>& cancel) {
    options.progress = [&cancel](std::uint64_t, std::uint64_t) { return !cancel; };
    return recover(source.string(), target.string(), options);
  });
  py::dict dict;
  dict["records"] = report.records;
  dict["blocks"] = report.blocks;
  dict["expected_records"] = report.expected_records;
  dict["lost"] = py::tuple(damaged_places(report.lost));
  dict["lost_regions"] = report.lost_regions;
  dict["lost_records"] = report.lost_records;
  dict["passed_over"] = path_texts(report.passed_over);
  dict["not_shards"] = path_texts(report.not_shards);
  dict["source_bytes"] = report.source_bytes;
  dict["checked_bytes"] = report.checked_bytes;
  dict["unreadable_bytes"] = report.unreadable_bytes;
  dict["dataset_id"] = report.dataset_id.to_hex();
  dict["shards"] = py::tuple(py::cast(report.shards));
  return make_object("dovetail._reports", "RecoverReport", dict);
}

py::object index_path(const py::object& path_given, const py::object& overwrite, const py::object& write_dali,
                      const py::object& check_dali, const py::object& block_bytes, const py::object& run_bytes,
                      const py::object& run_records) {
  const std::string path = to_path("path", path_given).string();
  const std::string dali_index = path + ".idx";
  const auto replace = to_option<bool>("overwrite", overwrite);
  TfrecordIndexOptions options;
  if (to_option<bool>("write_dali", write_dali)) options.write_dali_index = dali_index;
  if (to_option<bool>("check_dali", check_dali)) options.check_dali_index = dali_index;
  options.block_bytes = to_option<std::uint32_t>("block_bytes", block_bytes);
  options.run_bytes = to_option<std::uint64_t>("run_bytes", run_bytes);
  options.run_records = to_option<std::uint64_t>("run_records", run_records);
  const TfrecordIndexReport report = run_interruptibly([&](const std::atomic<bool>& cancel) {
    options.progress = [&cancel](std::uint64_t, std::uint64_t) { return !cancel; };
    return index_tfrecord(path, options, replace);
  });
  return call_object(import_module("dovetail._reports").attr("IndexReport"), path_text(report.index), report.shard,
                     report.kept);
}

}  // namespace

void bind_upkeep(py::module_& module) {
  module.def("verify", verify_path, py::arg("path"), py::arg("threads") = 0,
             R"(Checks every byte of a shard, a dataset or a glob.

Args:
    path: of it.
    threads: 0 chooses.

Returns:
    A `VerifyReport`, which tells all damage and every shard that could not be read. Ctrl-C ends it soon.

Raises:
    MissingFileError, StorageError: where nothing can be read at all.)");
  module.def(
      "recover", recover_path, py::arg("source"), py::arg("target"), py::kw_only(), py::arg("overwrite") = false,
      py::arg("dataset_id") = py::none(), py::arg("allow_outside") = false,
      py::arg("regions") = RecoverOptions().most_regions,
      R"(Saves every whole block of a damaged or unfinished shard or dataset in new files, as `dovetail recover` does.

Args:
    source: a shard, a folder of shards, or a manifest; also what a killed writer left.
    target: the file to write, or the folder where the source is a folder or a manifest.
    overwrite: replaces an existing target, but never the source.
    dataset_id: 32 hex digits, for files that can be reproduced; random by default.
    allow_outside: lets a manifest name files outside its folder.
    regions: lists at most so many lost places; all are counted.

Returns:
    A `RecoverReport`. The target is written also if records are lost. Ctrl-C, or an error, leaves none.

Raises:
    UsageError, DamagedError, StorageError: with the file.)");
  const TfrecordIndexOptions preset;
  module.def(
      "index", index_path, py::arg("path"), py::kw_only(), py::arg("overwrite") = false, py::arg("write_dali") = false,
      py::arg("check_dali") = false, py::arg("block_bytes") = preset.block_bytes,
      py::arg("run_bytes") = preset.run_bytes, py::arg("run_records") = preset.run_records,
      R"(Makes an uncompressed TFRecord file usable as a shard: checks it, and writes PATH.dvi, as `dovetail index` does.

Args:
    path: of the TFRecord file. For many files call it on several threads: it releases the interpreter lock.
    overwrite: replaces an index even if it fits the file.
    write_dali: writes PATH.idx, the text index of DALI.
    check_dali: compares PATH.idx with the file.
    block_bytes: records that are checked together.
    run_bytes: records that are read together.
    run_records: the same as a number of records; 0 goes by run_bytes.

Returns:
    An `IndexReport`. Ctrl-C, or an error, leaves no new index.

Raises:
    UsageError, DamagedError, StorageError: with file and offset.)");
}

}  // namespace dovetail::python
