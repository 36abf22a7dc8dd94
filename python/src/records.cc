// SPDX-License-Identifier: Apache-2.0
// Access to records by number and in order.
#include <dovetail/record_reader.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "format/process_mark.h"
#include "format/try.h"
#include "python/src/arguments.h"
#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// The most data that iteration reads at a time without the interpreter lock.
constexpr std::size_t kReadAheadBytes = 256 * 1024;
constexpr std::size_t kReadAheadRecords = 1024;

py::bytes to_bytes(const std::string& record) {
  return {record.data(), record.size()};
}

/// The shard that was read last. Calls of several threads wait for each other.
class OpenShard {
 public:
  explicit OpenShard(Dataset dataset) : dataset_(std::move(dataset)) {}

  /// Needs: `id < records()` of the dataset, and not the interpreter lock.
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
      reader_.reset();  // otherwise it would return the same error for every record
      throw;
    }
  }

 private:
  const Dataset dataset_;
  std::mutex mutex_;
  std::optional<RecordReader> reader_;
  std::uint32_t shard_ = 0;
};

/// An object that is used without the interpreter lock. When the process forks, a thread of the
/// parent may be using it. The child never touches such an object, which may have a locked mutex.
template <class Work>
class OfThisProcess {
 public:
  explicit OfThisProcess(const Dataset& dataset) : work_(std::make_shared<Work>(dataset)) {}
  OfThisProcess(const OfThisProcess&) = delete;
  OfThisProcess& operator=(const OfThisProcess&) = delete;
  ~OfThisProcess() {
    if (forked()) detail::leave_alone(std::move(work_));
  }

  bool forked() const noexcept { return process_.forked(); }
  const std::shared_ptr<Work>& get() const noexcept { return work_; }
  void begin_anew(const Dataset& dataset) {
    detail::leave_alone(std::exchange(work_, std::make_shared<Work>(dataset)));
    process_ = {};
  }

 private:
  std::shared_ptr<Work> work_;
  detail::ProcessMark process_;
};

class Records {
 public:
  explicit Records(Dataset dataset) : dataset_(std::move(dataset)), shard_(dataset_) {}

  const Dataset& dataset() const noexcept { return dataset_; }

  /// Needs: `id < dataset().records()`, and the interpreter lock, which guards the members.
  py::bytes read(std::uint64_t id) {
    if (shard_.forked()) shard_.begin_anew(dataset_);
    const std::shared_ptr<OpenShard> shard = shard_.get();
    const std::string record = [&] {
      const Unlocked unlocked;
      return shard->read(id);
    }();
    return to_bytes(record);
  }

 private:
  const Dataset dataset_;
  OfThisProcess<OpenShard> shard_;
};

/// Records in order, read in chunks.
class RecordQueue {
 public:
  explicit RecordQueue(Dataset dataset) : dataset_(std::move(dataset)) {}

  enum class Got { record, filled, end };
  /// Takes the next record, or reads a chunk if there is none in hand. These are separate calls, so
  /// that a signal handled between them loses no record.
  Got take(std::string& record) {
    const std::lock_guard lock(mutex_);
    if (chunk_.empty()) {
      fill();
      return chunk_.empty() ? Got::end : Got::filled;
    }
    record = std::move(chunk_.front());
    chunk_.pop_front();
    return Got::record;
  }

 private:
  void fill() {
    if (failure_.has_value()) throw Exception(*failure_);
    std::size_t bytes = 0;
    while (bytes < kReadAheadBytes && chunk_.size() < kReadAheadRecords && shard_ < dataset_.shards().size()) {
      Result<std::optional<ByteView>> record = next_in_shard();
      if (!record.has_value()) {
        failure_ = record.error();
        if (chunk_.empty()) throw Exception(*failure_);
        return;  // deliver the records before the failure first
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
      DOVETAIL_ASSIGN(RecordReader opened, RecordReader::open(dataset_, shard_));
      reader_.emplace(std::move(opened));
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

class RecordIterator {
 public:
  explicit RecordIterator(const Dataset& dataset) : queue_(dataset) {}

  py::bytes next() {
    if (queue_.forked()) {
      throw Exception(Error(Errc::closed,
                            "the iterator belongs to the process that forked this one; iterate over the records "
                            "again in the child"));
    }
    const std::shared_ptr<RecordQueue> queue = queue_.get();
    std::string record;
    for (;;) {
      const RecordQueue::Got got = [&] {
        const Unlocked unlocked;
        return queue->take(record);
      }();
      if (got == RecordQueue::Got::record) return to_bytes(record);
      if (got == RecordQueue::Got::end) throw py::stop_iteration();
      if (call_python(PyErr_CheckSignals) != 0) throw py::error_already_set();
    }
  }

 private:
  OfThisProcess<RecordQueue> queue_;
};

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
    if (call_python(PyErr_CheckSignals) != 0) throw py::error_already_set();
    list.append(records.read(static_cast<std::uint64_t>(start + i * step)));
  }
  return list;
}

py::object item(Records& records, const py::object& i) {
  if (py::isinstance<py::slice>(i)) return items(records, py::reinterpret_borrow<py::slice>(i));
  return records.read(to_place("record", i, records.dataset().records()));
}

}  // namespace

void bind_records(py::module_& module) {
  py::class_<RecordIterator>(module, "RecordIterator", R"(Iterates over records, as bytes.)")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &RecordIterator::next);

  py::class_<Records>(
      module, "Records",
      R"(Records by number as bytes, negative ones from the end, slices as lists. Threads may share it; they wait for each other.
In a forked child it reads through files of its own.

Raises:
    IndexError: for a number beyond the end; DamagedError and StorageError with file and offset, after which other records
    can still be read.)")
      .def(py::init([](const py::object& dataset) {
             if (py::isinstance<Dataset>(dataset)) return std::make_unique<Records>(dataset.cast<Dataset>());
             throw py::type_error("dataset must be a Dataset, not " + type_name(dataset) +
                                  "; dovetail.open(path) returns the records of a path");
           }),
           py::arg("dataset"))
      .def_property_readonly("dataset", &Records::dataset, py::return_value_policy::copy, R"(Their dataset.)")
      .def("__len__", [](const Records& records) { return records.dataset().records(); })
      .def("__getitem__", item, py::arg("i"))
      .def("__repr__",
           [](const Records& records) {
             const Dataset& dataset = records.dataset();
             return message_text("<Records of \"" + dataset.path() + "\": " + std::to_string(dataset.records()) + '>');
           })
      .def("__iter__", [](const Records& records) { return std::make_unique<RecordIterator>(records.dataset()); });
}

}  // namespace dovetail::python
