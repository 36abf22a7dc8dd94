// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_writer.h>
#include <pybind11/stl.h>

#include "format/process_mark.h"
#include "format/text/count_of.h"
#include "python/src/arguments.h"
#include "python/src/bindings.h"
#include "python/src/buffer.h"
#include "python/src/gil.h"
#include "python/src/text.h"
#include "python/src/writer_options.h"

namespace dovetail::python {

namespace {

/// The most records that `extend` takes from Python at a time.
constexpr std::size_t kChunkRecords = 256;
constexpr std::size_t kChunkBytes = 1024 * 1024;

/// The name of the class in Python.
template <class Writer>
constexpr const char* kClass = "DatasetWriter";
template <>
constexpr const char* kClass<RecordWriter> = "Writer";

/// A writer of either kind. Calls of several threads wait for each other.
template <class Writer>
class Guarded {
 public:
  Guarded(Writer writer, std::string path) : writer_(std::move(writer)), path_(std::move(path)) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    if (!asked_to_end_ && !process_.forked()) warn_of_loss();
    const Unlocked unlocked;  // removes files of an unfinished writer, and may wait for compression
    writer_.reset();
  }

  /// Runs without the interpreter lock, because a writer may wait for the disk or for compression.
  template <class Call>
  auto call(Call of_writer) {
    if (process_.forked()) {  // before the mutex, which a thread of the parent may hold
      throw Exception(Error(Errc::closed,
                            "the writer belongs to the process that forked this one; open another "
                            "in the child, for another file"));
    }
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    return of_writer(*writer_);
  }

  void append(const py::object& record) {
    const Buffer buffer(record);
    call([&](Writer& writer) { writer.append(buffer.bytes()).value(); });
  }

  /// If the iterator or a signal handler raises, the records before are appended, as with
  /// `list.extend`.
  void extend(const py::object& records) {
    std::vector<Buffer> chunk;
    std::size_t bytes = 0;
    const auto flush = [&] {
      if (chunk.empty()) return;
      call([&](Writer& writer) {
        for (const Buffer& buffer : chunk) writer.append(buffer.bytes()).value();
      });
      chunk.clear();
      bytes = 0;
      // Iterators in C, such as those of itertools, never check.
      if (call_python(PyErr_CheckSignals) != 0) throw py::error_already_set();
    };
    const UserObject items = py::reinterpret_steal<py::object>(call_python(PyObject_GetIter, records.ptr()));
    if (!items) throw py::error_already_set();
    for (;;) {
      const UserObject record = py::reinterpret_steal<py::object>(call_python(PyIter_Next, items.ptr()));
      if (!record) break;
      std::exception_ptr failure;
      try {
        chunk.emplace_back(record);
      } catch (...) {
        failure = std::current_exception();
      }
      if (failure != nullptr) {
        flush();
        std::rethrow_exception(failure);
      }
      bytes += chunk.back().bytes().size();
      // The iterator may reuse the same bytearray or array for its next record.
      const bool keeps = PyBytes_CheckExact(record.ptr()) != 0;
      if (!keeps || chunk.size() == kChunkRecords || bytes >= kChunkBytes) flush();
    }
    if (PyErr_Occurred() == nullptr) return flush();
    const py::error_already_set raised;
    flush();
    throw raised;  // NOLINT(misc-throw-by-value-catch-by-reference): it was taken before the flush, which calls Python
  }

  /// Never raises, not even in a forked child.
  py::str shown() {
    const std::string about = std::string("<") + kClass<Writer> + " \"" + path_ + "\"";
    if (ended_) return message_text(about + ", ended>");
    if (process_.forked()) return message_text(about + ", of another process>");
    return message_text(about + ": " + format::count_of(records(), "record") + '>');
  }

  std::uint64_t records() {
    return call([](Writer& writer) { return writer.records(); });
  }

  auto finish() {
    asked_to_end_ = true;
    auto finished = call([](Writer& writer) { return writer.finish().value(); });
    ended_ = true;
    return finished;
  }

  /// Does nothing in a forked child, because the files belong to the parent.
  void abandon() {
    if (process_.forked()) return;
    asked_to_end_ = true;
    call([](Writer& writer) { writer.abandon(); });
    ended_ = true;
  }

  /// Ends a `with` block. After an exception the incomplete files are removed. Does nothing if the
  /// writer is finished or abandoned. A failed writer raises its error again.
  void leave(const py::object& exception) {
    if (ended_) return;
    if (exception.is_none()) {
      finish();
    } else {
      abandon();
    }
  }

 private:
  /// As Python does for a file that is dropped without `close()`.
  void warn_of_loss() {
    const py::error_scope raised;  // may be what ends the scope that dropped the writer
    const py::str self = shown();
    const py::str text = py::str("unfinished {} is removed: call finish(), or use a with block").format(self);
    if (call_python(PyErr_WarnEx, PyExc_ResourceWarning, PyUnicode_AsUTF8(text.ptr()), 1) == 0) return;
    call_python(PyErr_WriteUnraisable, self.ptr());  // the warning is to be an error
  }

  std::mutex mutex_;
  std::optional<Writer> writer_;
  std::string path_;
  // Guarded by the interpreter lock.
  bool ended_ = false;
  bool asked_to_end_ = false;  // also if that failed
  detail::ProcessMark process_;
};

using ShardWriter = Guarded<RecordWriter>;
using ManyShardsWriter = Guarded<DatasetWriter>;

std::unique_ptr<ShardWriter> create_shard(const py::object& path_given, const py::kwargs& given) {
  const std::filesystem::path path = to_path("path", path_given);
  WriterOptions options;
  set_options(options, given);
  const Unlocked unlocked;
  return std::make_unique<ShardWriter>(RecordWriter::create(path.string(), std::move(options)).value(), path.string());
}

std::unique_ptr<ManyShardsWriter> create_dataset(const py::object& folder_given, const py::kwargs& given) {
  const std::filesystem::path folder = to_path("folder", folder_given);
  DatasetWriterOptions options;
  set_options(options, given);
  const Unlocked unlocked;
  return std::make_unique<ManyShardsWriter>(DatasetWriter::create(folder.string(), std::move(options)).value(),
                                            folder.string());
}

constexpr const char* kWriterDoc =
    R"(Writes one shard. The file is there once it is finished: by `finish()`, or at the end of a `with` that has not called it.
One that is dropped before has written nothing, which is a ResourceWarning.

Records are bytes or bytes-like, contiguous. Threads may share a writer; they wait for each other.

Args:
    path: of the file.
    shard_number: of the dataset.
    schema: the columns that features become.
    check_schema: whether the first record must fit the schema.
)";

constexpr const char* kWriterErrors = R"(
Raises:
    UsageError, StorageError: with the file. The first failure is final.
    ClosedError: after the end, or in a forked child.)";

constexpr const char* kDatasetWriterDoc =
    R"(Writes a folder of shards and a manifest. It appears as a whole; otherwise as `Writer`.

A killed writer leaves `FOLDER.partial`. `recover` saves its records; a new writer of the same folder removes it.

Args:
    folder: of the dataset, with nothing else in it.
    shard_bytes: raw bytes after which a shard is closed; 0 leaves that to `next_shard()`.
    shards: exactly so many, with expected_records; 0 goes by shard_bytes.
    expected_records: how many records the shards share.
    encode_threads: that compress; 0 uses all cores.
    schema: the columns that features become, for `Reader(columns=True)`.
    check_schema: whether the first record must fit the schema. Later records are not checked.
)";

template <class Writer>
py::class_<Guarded<Writer>> bind_writer(py::module_& module, const char* doc) {
  using Bound = Guarded<Writer>;
  return py::class_<Bound>(module, kClass<Writer>, with_packing_doc(doc, kWriterErrors).c_str())
      .def(
          "append", &Bound::append, py::arg("record"),
          R"(Adds one record, which may be empty. Errors: TypeError unless it is bytes-like, UsageError above max_record_bytes or if the first one does not fit schema.)")
      .def("extend", &Bound::extend, py::arg("records"),
           R"(Adds the records of an iterable. If that raises, the records before it stay added.)")
      .def("abandon", &Bound::abandon, R"(Removes what was written.)")
      .def_property_readonly("records", &Bound::records, R"(Records so far.)")
      .def("__repr__", &Bound::shown)
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](Bound& writer, const py::object&, const py::object& exception, const py::object&) {
        writer.leave(exception);
      });
}

}  // namespace

void bind_writers(py::module_& module) {
  bind_writer<RecordWriter>(module, kWriterDoc)
      .def(py::init(&create_shard), py::arg("path"))
      .def("finish", &ShardWriter::finish, "Completes the file. Returns its `ShardInfo`.");

  bind_writer<DatasetWriter>(module, kDatasetWriterDoc)
      .def(py::init(&create_dataset), py::arg("folder"))
      .def(
          "next_shard",
          [](ManyShardsWriter& writer) { writer.call([](DatasetWriter& of) { of.next_shard().value(); }); },
          R"(Ends the current shard.)")
      .def(
          "finish", [](ManyShardsWriter& writer) { return writer.finish().shards; },
          "Completes the last shard and the manifest; then the folder appears. Returns a `ShardInfo` for each shard.");
}

}  // namespace dovetail::python
