// SPDX-License-Identifier: Apache-2.0
#include "python/src/map.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "format/process_mark.h"
#include "python/src/arguments.h"
#include "python/src/gil.h"
#include "python/src/map_values.h"

namespace dovetail::python {

namespace py = pybind11;

namespace {

/// As many exceptions as there may be batches that fail at the same time.
constexpr std::size_t kMostRaised = 128;

thread_local int maps_here = 0;

/// The thread state that Python keeps for this thread, including `threading.local`. Functions may
/// keep expensive objects there.
class ThreadState {
 public:
  ThreadState() : state_(PyEval_SaveThread()) {}
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState() {
    if (interpreter_ends()) return;
    lock();
    ++maps_here;  // the objects that it releases may close a reader
    use_.end();
  }
  void lock() { call_python(PyEval_RestoreThread, state_); }

 private:
  ThreadUse use_;
  PyThreadState* const state_;
};

/// Whether an exception says nothing of the record: memory is lacking, or the program shall end.
bool is_of_program(const UserObject& exception) {
  return PyErr_GivenExceptionMatches(exception.ptr(), PyExc_MemoryError) != 0 ||
         PyErr_GivenExceptionMatches(exception.ptr(), PyExc_Exception) == 0;
}

/// The exception, which keeps all that `raised` holds, such as the objects of the frames.
UserObject exception_of(const py::error_already_set& raised) {
  UserObject exception = raised.value();
  if (raised.trace()) call_python(PyException_SetTraceback, exception.ptr(), raised.trace().ptr());
  return exception;
}

/// Does what a transform ends its reader by.
[[noreturn]] void end_reader() {
  throw std::bad_alloc();
}

/// What `convert`, which is Python's `str` or `repr`, makes of an object.
std::string utf8_of(PyObject* (*convert)(PyObject*), py::handle object) {
  const UserObject text = py::reinterpret_steal<py::object>(call_python(convert, object.ptr()));
  const auto bytes = py::reinterpret_steal<py::object>(
      text ? PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace") : nullptr);
  if (bytes) return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
  call_python(PyErr_Clear);
  return "an object without a text";
}

}  // namespace

/// Holds the interpreter lock for all records of a batch. Taking it for each record would cost more
/// than some functions do.
class PyMap::Scope {
 public:
  Scope() {
    static thread_local ThreadState state;
    state.lock();
    ++maps_here;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    --maps_here;
    PyEval_SaveThread();
  }
};

/// The result of a batch function, while rows are made of it.
struct PyMap::BatchColumns {
  struct Column {
    std::size_t number = 0;
    UserObject rows;  ///< A list or tuple of rows; null if `numbers` has all rows.
    Numbers numbers;
  };

  explicit BatchColumns(std::span<const TransformInput> of) : records(of) {}

  const Scope scope;  // first, so that it is destroyed last
  const std::span<const TransformInput> records;
  std::deque<Column> columns;
};

PyMap::PyMap(py::object function, Takes takes, Schema schema, bool keeps_raised)
    : takes_(takes), schema_(std::move(schema)), keeps_raised_(keeps_raised), function_(std::move(function)) {
  if (PyCallable_Check(function_.ptr()) == 0) {
    throw py::type_error(std::string(name()) + " must be a function of a " +
                         (takes_ == Takes::record ? "record" : "list of records") + ", not " + type_name(function_));
  }
  const py::object module = import_module("dovetail._map");
  objects_ = std::make_unique<Objects>(Objects{.record_type = module.attr("Record"),
                                               .kept = KeptObjects(function_),
                                               .fit = module.attr("fit"),
                                               .id = py::str("id"),
                                               .epoch = py::str("epoch"),
                                               .seed = py::str("seed"),
                                               .columns = {}});
  for (const Column& column : schema_.columns) objects_->columns.push_back(py::str(column.name));
}

PyMap::~PyMap() {
  if (interpreter_ends()) {  // Python's objects cannot be released any more
    function_.release();
    detail::leave_alone(std::move(objects_));
    detail::leave_alone(std::move(raised_));
    ended_by_.release();
    return;
  }
  const Locked locked;
  clear();
  objects_.reset();
}

Transform PyMap::transform() {
  Transform transform;
  if (takes_ == Takes::batch) {
    transform.fill_batch = [self = shared_from_this()](std::span<const TransformInput> records) {
      return self->fill_batch(records);
    };
    return transform;
  }
  transform.fill = [self = shared_from_this()](const TransformInput& input, RowWriter& row) {
    return self->fill(input, row);
  };
  transform.scope = []() -> std::shared_ptr<void> { return std::make_shared<Scope>(); };
  return transform;
}

bool PyMap::runs_here() noexcept {
  return maps_here > 0;
}

int PyMap::traverse(visitproc visit, void* arg) const {
  Py_VISIT(function_.ptr());
  Py_VISIT(objects_->kept.dict().ptr());
  for (const Raised& raised : raised_) Py_VISIT(raised.exception.ptr());
  Py_VISIT(ended_by_.ptr());
  return 0;
}

void PyMap::clear() {
  function_.reset();
  objects_->kept.clear();
  const auto raised = std::exchange(raised_, {});
  ended_by_.reset();
}

void PyMap::begin() {
  const Locked locked;
  ended_by_.reset();
  objects_->kept.drop();
}

template <class Call>
Result<void> PyMap::guarded(std::uint64_t id, const Call& call) {
  UserObject exception;
  try {
    call();
    return {};
  } catch (const Exception& refused) {
    return refused.error();
  } catch (const py::error_already_set& raised) {
    exception = exception_of(raised);
  } catch (const py::builtin_exception& thrown) {
    thrown.set_error();
    exception = exception_of(py::error_already_set());
  } catch (const std::runtime_error&) {  // pybind11 found no memory, and left Python's error set
    if (PyErr_Occurred() == nullptr) throw;
    exception = exception_of(py::error_already_set());
  }
  if (!is_of_program(exception)) return reject(id, exception);
  if (!ended_by_) ended_by_ = exception;
  end_reader();
}

UserObject PyMap::call(const UserObject& argument) const {
  const UserObject function = function_;  // the garbage collector may clear `function_` meanwhile
  if (!function) end_reader();            // which is garbage too
  return call_object(function, argument);
}

py::object PyMap::make_record(const TransformInput& input) const {
  const auto bytes = py::reinterpret_steal<py::object>(PyBytes_FromStringAndSize(
      reinterpret_cast<const char*>(input.record.data()), static_cast<Py_ssize_t>(input.record.size())));
  // `py::bytes` would leave the error set for the next record.
  if (!bytes) throw py::error_already_set();
  py::object record = call_object(objects_->record_type, bytes);
  py::setattr(record, objects_->id, py::int_(input.id));
  py::setattr(record, objects_->epoch, py::int_(input.epoch));
  py::setattr(record, objects_->seed, py::int_(input.seed));
  return record;
}

Result<void> PyMap::fill(const TransformInput& input, RowWriter& row) {
  return guarded(input.id, [&] {
    const UserObject columns = call(make_record(input));
    for_each_column(columns, [&](std::size_t column, py::handle value) {
      write_value(column, schema_.columns[column], value, objects_->fit, row);
    });
  });
}

Result<Transform::FillRow> PyMap::fill_batch(std::span<const TransformInput> records) {
  const auto made = std::make_shared<BatchColumns>(records);
  const Result<void> called = guarded(records.front().id, [&] {
    py::list list;
    for (const TransformInput& input : records) {
      if (PyList_Append(list.ptr(), make_record(input).ptr()) != 0) throw py::error_already_set();
    }
    const UserObject columns = call(std::move(list));
    for_each_column(columns, [&](std::size_t column, py::handle value) {
      Column of = schema_.columns[column];
      const Py_ssize_t rows = call_python(PyObject_Size, value.ptr());
      if (rows < 0 || PyUnicode_Check(value.ptr()) || PyDict_Check(value.ptr()) || PyAnySet_Check(value.ptr())) {
        if (rows < 0) forget_error({PyExc_TypeError});
        refuse_value(of, "an array or a list with a row for each record", value);
      }
      if (static_cast<std::size_t>(rows) != records.size()) {
        throw py::value_error("map_batch returned " + std::to_string(rows) + " rows of column \"" + of.name +
                              "\" for " + std::to_string(records.size()) + " records");
      }
      BatchColumns::Column& added = made->columns.emplace_back();
      added.number = column;
      const bool is_list = PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
      if (is_list || of.ragged || of.dtype == Dtype::bytes) {
        added.rows = items_of(value);
      } else {
        of.ragged = true;  // the rows of a batch are like the items of a ragged row
        added.numbers.get_row(of, value, objects_->fit);
      }
    });
  });
  if (!called.has_value()) return called.error();
  return [this, made](std::size_t i, RowWriter& row) {
    return guarded(made->records[i].id, [&] {
      for (const BatchColumns::Column& column : made->columns) {
        if (column.rows) {
          const UserObject value =
              py::reinterpret_steal<py::object>(PySequence_GetItem(column.rows.ptr(), static_cast<Py_ssize_t>(i)));
          if (!value) throw py::error_already_set();
          write_value(column.number, schema_.columns[column.number], value, objects_->fit, row);
        } else {
          const ByteView all = column.numbers.bytes();
          const std::size_t bytes = all.size() / made->records.size();
          row.set(column.number, all.subspan(i * bytes, bytes)).value();
        }
      }
    });
  };
}

Error PyMap::reject(std::uint64_t id, const UserObject& exception) {
  std::string reason = type_name(exception) + ": " + utf8_of(PyObject_Str, exception);
  if (keeps_raised_) {
    UserObject oldest;  // destroyed last: code that it runs may use `raised_`
    if (raised_.size() == kMostRaised) {
      oldest = std::move(raised_.front().exception);
      raised_.pop_front();
    }
    raised_.push_back({.id = id, .reason = reason, .exception = exception});
  }
  return Error(Errc::rejected_record, std::move(reason));
}

py::object PyMap::raised(const Error& error, const Dataset& dataset) const {
  const auto is_of = [&](const Raised& raised) {
    const Dataset::Place place = dataset.locate(raised.id);
    return error.path() == dataset.shard_path(place.shard) && error.detail().starts_with(raised.reason) &&
           error.detail().find("; record " + std::to_string(place.record) + " of the shard") != std::string::npos;
  };
  // Search from the back: the record may also have failed before a seek.
  const auto last = std::find_if(raised_.rbegin(), raised_.rend(), is_of);
  return last == raised_.rend() ? UserObject() : last->exception;
}

template <class Use>
void PyMap::for_each_column(py::handle columns, const Use& use) const {
  if (!PyDict_Check(columns.ptr())) {
    throw py::type_error(std::string(name()) + " must return a dict of columns, not " + type_name(columns));
  }
  Py_ssize_t left = PyDict_Size(columns.ptr());
  for (std::size_t column = 0; column < objects_->columns.size(); ++column) {
    const UserObject value = py::reinterpret_borrow<py::object>(
        call_python(PyDict_GetItemWithError, columns.ptr(), objects_->columns[column].ptr()));
    if (!value && PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (!value) continue;  // the column's fallback applies, or an error follows
    use(column, value);
    --left;
  }
  if (left == 0) return;
  for (const auto& item : py::reinterpret_borrow<py::dict>(columns)) {
    const auto is_it = [&](const py::object& name) {  // runs no code of the key's class
      return PyUnicode_Check(item.first.ptr()) && PyUnicode_Compare(name.ptr(), item.first.ptr()) == 0;
    };
    if (std::any_of(objects_->columns.begin(), objects_->columns.end(), is_it)) continue;
    std::string names;
    for (const py::object& name : objects_->columns) {
      names += (names.empty() ? "" : ", ") + std::string(py::str(name));
    }
    throw py::key_error(std::string(name()) + " returned " + utf8_of(PyObject_Repr, item.first) +
                        ", which is not one of the columns: " + names);
  }
}

}  // namespace dovetail::python
