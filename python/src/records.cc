// SPDX-License-Identifier: Apache-2.0
// Records by number and in order.
#include <dovetail/record_reader.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "python/src/bindings.h"
#include "python/src/gil.h"

namespace dovetail::python {

namespace {

/// What iterating reads at a time without the interpreter lock.
constexpr std::size_t kChunkBytes = 256 * 1024;
constexpr std::size_t kChunkRecords = 1024;

py::bytes to_bytes(const std::string& record) {
  return {record.data(), record.size()};
}

/// Keeps the shard open that was read last. Calls of several threads wait for each other.
class Records {
 public:
  explicit Records(Dataset dataset) : dataset_(std::move(dataset)) {}

  const Dataset& dataset() const noexcept { return dataset_; }

  /// Needs: `id < dataset().records()`, and not the interpreter lock.
  std::string read(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    const Dataset::Place place = dataset_.locate(id);
    if (!reader_.has_value() || shard_ != place.shard) {
      reader_.reset();
      reader_.emplace(RecordReader::open(dataset_, place.shard).value());
      shard_ = place.shard;
    }
    try {
      reader_->seek(place.record).value();
      return std::string(as_chars(reader_->next().value().value()));
    } catch (...) {
      reader_.reset();  // it would give the same error for every other record
      throw;
    }
  }

 private:
  const Dataset dataset_;
  std::mutex mutex_;
  std::optional<RecordReader> reader_;
  std::uint32_t shard_ = 0;
};

class RecordIterator {
 public:
  explicit RecordIterator(Dataset dataset) : dataset_(std::move(dataset)) {}

  py::bytes next() {
    std::string record;
    bool any = false;
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      if (chunk_.empty()) fill();
      any = !chunk_.empty();
      if (any) {
        record = std::move(chunk_.front());
        chunk_.pop_front();
      }
    }
    if (!any) throw py::stop_iteration();
    return to_bytes(record);
  }

 private:
  void fill() {
    if (failure_.has_value()) throw Exception(*failure_);
    std::size_t bytes = 0;
    while (bytes < kChunkBytes && chunk_.size() < kChunkRecords && shard_ < dataset_.shards().size()) {
      Result<std::optional<ByteView>> record = next_in_shard();
      if (!record.has_value()) {
        failure_ = record.error();
        if (chunk_.empty()) throw Exception(*failure_);
        return;  // what comes before it first
      }
      if (!record->has_value()) {
        reader_.reset();
        ++shard_;
        continue;
      }
      chunk_.emplace_back(as_chars(**record));
      bytes += (*record)->size();
    }
  }

  Result<std::optional<ByteView>> next_in_shard() {
    if (!reader_.has_value()) {
      Result<RecordReader> opened = RecordReader::open(dataset_, shard_);
      if (!opened.has_value()) return opened.error();
      reader_.emplace(std::move(*opened));
    }
    return reader_->next();
  }

  const Dataset dataset_;
  std::mutex mutex_;
  std::uint32_t shard_ = 0;
  std::optional<RecordReader> reader_;
  std::deque<std::string> chunk_;
  std::optional<Error> failure_;
};

py::bytes item(Records& records, py::ssize_t i) {
  const auto count = static_cast<py::ssize_t>(records.dataset().records());
  if (i < -count || i >= count) throw py::index_error("record " + std::to_string(i) + " of " + std::to_string(count));
  std::string record;
  {
    const Unlocked unlocked;
    record = records.read(static_cast<std::uint64_t>(i < 0 ? i + count : i));
  }
  return to_bytes(record);
}

py::list items(Records& records, const py::slice& slice) {
  py::ssize_t start = 0;
  py::ssize_t stop = 0;
  py::ssize_t step = 0;
  py::ssize_t length = 0;
  if (!slice.compute(static_cast<py::ssize_t>(records.dataset().records()), &start, &stop, &step, &length)) {
    throw py::error_already_set();
  }
  py::list list;
  for (py::ssize_t i = 0; i < length; ++i) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    list.append(item(records, start + i * step));
  }
  return list;
}

py::dict describe(const std::filesystem::path& path) {
  const ShardDescription shard = [&] {
    const Unlocked unlocked;
    return describe_shard(path.string()).value();
  }();
  py::dict dict;
  dict["info"] = shard.info;
  dict["tfrecord"] = shard.tfrecord;
  dict["version"] = py::make_tuple(shard.version_major, shard.version_minor);
  dict["dataset_id"] = shard.dataset_id.to_hex();
  dict["shard_number"] = shard.shard_number;
  dict["record_type"] = shard.record_type;
  dict["writer"] = shard.writer;
  dict["metadata"] = shard.metadata;
  dict["schema"] = shard.schema.empty() ? py::object(py::none()) : py::object(py::str(shard.schema));
  return dict;
}

}  // namespace

void bind_records(py::module_& module) {
  py::class_<RecordIterator>(module, "RecordIterator", R"(Records one after the other, as bytes.)")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &RecordIterator::next);

  py::class_<Records>(
      module, "Records",
      R"(Records by number as bytes, negative ones from the end, slices as lists. Threads may share it; they wait for each other.

Raises:
    IndexError: for a number beyond the end; DamagedError and StorageError with file and offset, after which other records
    can still be read.)")
      .def(py::init<Dataset>(), py::arg("dataset"))
      .def_property_readonly("dataset", &Records::dataset, py::return_value_policy::copy, R"(The dataset they are of.)")
      .def("__len__", [](const Records& records) { return records.dataset().records(); })
      .def("__getitem__", item, py::arg("i"))
      .def("__getitem__", items, py::arg("slice"))
      .def("__iter__", [](const Records& records) { return std::make_unique<RecordIterator>(records.dataset()); });

  module.def(
      "describe", describe, py::arg("path"),
      R"(What a shard says of itself, as a dict: info (a `ShardInfo`), version, dataset_id, record_type, metadata, schema.

Raises:
    MissingFileError, StorageError, DamagedError: with file and offset.)");
}

}  // namespace dovetail::python
