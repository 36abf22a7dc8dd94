// SPDX-License-Identifier: Apache-2.0
#include "python/src/batch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlpack/dlpack.h>
#include <dovetail/dlpack.h>
#include <pybind11/stl.h>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "python/src/arguments.h"
#include "python/src/arrays.h"
#include "python/src/arrow.h"
#include "python/src/bindings.h"
#include "python/src/collected.h"
#include "python/src/gil.h"
#include "python/src/option_table.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

void refuse_forked(const detail::ProcessMark& process) {
  if (!process.forked()) return;
  throw Exception(Error(Errc::closed,
                        "the batch belongs to the process that this one was forked from; copy what is "
                        "needed before the fork, or open a reader in the child"));
}

[[noreturn]] void refuse_offsets() {
  refuse("the offsets of the batch were written to, through a tensor; copy the data that you change");
}

}  // namespace

const std::shared_ptr<Batch>& PyBatch::get() const {
  refuse_forked(process_);
  if (batch_ == nullptr) throw Exception(Error(Errc::closed, "the batch was released"));
  return batch_;
}

const py::object& PyBatch::owner() const {
  (void)get();
  if (!owner_) {
    need_numpy();  // another thread may release the batch meanwhile
    owner_ = owner_of(get());
  }
  return owner_;
}

ByteView PyBatch::row(std::uint32_t i) const {
  const auto ends = get()->offsets();
  const std::int64_t begin = ends[i];
  const std::int64_t end = ends[i + 1];
  if (begin < 0 || begin > end || static_cast<std::uint64_t>(end) > value_bytes_) refuse_offsets();
  return values().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

void PyBatch::release(DeviceStream stream) {
  const std::shared_ptr<Batch>& batch = get();
  if (owner_ && owner_.ref_count() == 1) owner_ = {};
  if (batch.use_count() > 1) {
    throw Exception(Error(Errc::busy,
                          "arrays or tensors of the batch are still alive; delete them before it is "
                          "released in a stream"));
  }
  batch->release(stream).value();
  batch_.reset();
}

namespace {

/// The most characters of a schema in a message.
constexpr std::size_t kMostShown = 200;

constexpr format::Words<BatchPart, 5> kParts{{{"values", BatchPart::values},
                                              {"rows", BatchPart::rows},
                                              {"offsets", BatchPart::offsets},
                                              {"ids", BatchPart::ids},
                                              {"status", BatchPart::status}}};
constexpr format::Words<ColumnPart, 3> kColumnParts{
    {{"values", ColumnPart::values}, {"offsets", ColumnPart::offsets}, {"text_offsets", ColumnPart::text_offsets}}};

py::ssize_t size_of(std::size_t size) {
  return static_cast<py::ssize_t>(size);
}

py::array values(const PyBatch& batch) {
  const ByteView bytes = batch.values();
  return array_over(batch.owner(), std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

py::array offsets(const PyBatch& batch) {
  return array_over(batch.owner(), batch->offsets());
}

py::array ids(const PyBatch& batch) {
  return array_over(batch.owner(), batch->ids());
}

py::array status(const PyBatch& batch) {
  const auto numbers = batch->status();
  return array_over(batch.owner(), std::span(reinterpret_cast<const std::uint8_t*>(numbers.data()), numbers.size()));
}

py::bytes to_bytes(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::bytes row(const PyBatch& batch, const py::object& i) {
  return to_bytes(batch.row(static_cast<std::uint32_t>(to_place("row", i, batch->rows()))));
}

py::list rows(const PyBatch& batch) {
  py::list list(batch->rows());
  for (std::uint32_t i = 0; i < batch->rows(); ++i) list[i] = to_bytes(batch.row(i));
  return list;
}

std::vector<std::string> columns(const PyBatch& batch) {
  std::vector<std::string> names;
  if (const Schema* const schema = batch->schema()) {
    for (const Column& column : schema->columns) names.push_back(column.name);
  }
  return names;
}

bool has_column(const PyBatch& batch, const py::object& name) {
  const Schema* const schema = batch->schema();
  return schema != nullptr && py::isinstance<py::str>(name) && schema->find(to_utf8("a column", name)).has_value();
}

std::size_t place_of(const PyBatch& batch, const std::string& column) {
  const Schema* const schema = batch->schema();
  if (schema == nullptr) refuse("the batch was read without columns; give the reader columns=...");
  const std::optional<std::size_t> place = schema->find(column);
  if (!place.has_value()) {
    std::string names;
    for (const Column& each : schema->columns) {
      const bool full = names.size() >= kMostShown;
      names += (names.empty() ? "" : ", ") + (full ? "..." : each.name);
      if (full) break;
    }
    throw py::key_error("the batch has no column \"" + column + "\"; it has: " + names);
  }
  return *place;
}

/// A column as an array. For ragged columns and texts, the object that dovetail._columns makes of
/// their parts.
py::object column(const PyBatch& batch, const py::object& name) {
  need_numpy();
  const std::size_t place = place_of(batch, to_utf8("a column", name));
  if (batch.objects) return batch.objects;  // the only column has their numbers
  const ColumnView view = batch->column(place);
  const Dtype dtype = view.column->dtype;
  const bool texts = dtype == Dtype::bytes;
  const std::uint64_t item = (texts ? 1 : view.column->values()) * dtype_bytes(dtype);
  std::vector<py::ssize_t> shape{size_of(item == 0 ? 0 : view.values.size() / item)};
  std::vector<py::ssize_t> of_item;
  for (const std::uint32_t size : view.column->shape) of_item.push_back(static_cast<py::ssize_t>(size));
  if (!texts) shape.insert(shape.end(), of_item.begin(), of_item.end());
  py::array data = array_over(batch.owner(), dtype_of(dtype), shape, view.values.data());
  if (!texts && !view.column->ragged) return data;
  const auto make = [](const char* type, const auto&... parts) {
    return call_object(import_module("dovetail._columns").attr(type), parts...);
  };
  if (!texts) return make("Ragged", data, array_over(batch.owner(), view.offsets));
  const py::object of_rows =
      view.column->ragged ? py::object(array_over(batch.owner(), view.offsets)) : py::object(py::none());
  return make("Texts", data, array_over(batch.owner(), view.text_offsets), batch->rows(), py::tuple(py::cast(of_item)),
              of_rows);
}

py::list items(const PyBatch& batch) {
  py::list list;
  for (const std::string& name : columns(batch)) list.append(py::make_tuple(name, column(batch, py::str(name))));
  return list;
}

/// Never raises, not even for a released batch.
py::str shown(const PyBatch& batch) {
  if (!batch.readable()) return "<Batch, released>";
  std::string text = "<Batch of epoch " + std::to_string(batch->epoch()) + ", step " + std::to_string(batch->step()) +
                     ": " + format::count_of(batch->rows(), "row") + ", " + std::to_string(batch->valid()) + " valid, ";
  if (batch.objects) return message_text(text + "objects>");
  if (const Schema* const schema = batch->schema()) {
    return message_text(text + format::shortened(format::visible(to_text(*schema)), kMostShown) + '>');
  }
  return text + format::count_of(batch.value_bytes(), "byte") + '>';
}

/// The object that a framework's `from_dlpack` takes.
struct Tensor {
  std::shared_ptr<const Batch> batch;
  BatchPart part = BatchPart::values;
  std::optional<std::string> column;
  ColumnPart column_part = ColumnPart::values;
  std::size_t value_bytes = 0;
  detail::ProcessMark process = {};

  DLManagedTensor* to_dlpack() const {
    refuse_forked(process);
    const bool by_offsets = batch->schema() == nullptr && (part == BatchPart::values || part == BatchPart::rows);
    if (by_offsets && (batch->offsets().front() != 0 || batch->values().size() != value_bytes)) refuse_offsets();
    return column.has_value() ? dovetail::to_dlpack(batch, *column, column_part).value()
                              : dovetail::to_dlpack(batch, part).value();
  }
};

Tensor tensor(const PyBatch& batch, const py::object& part, const py::object& column) {
  Tensor tensor;
  tensor.batch = batch.get();
  tensor.value_bytes = batch.value_bytes();
  if (!column.is_none()) {
    if (batch.objects) refuse("Python objects are no tensor");
    tensor.column = to_utf8("a column", column);
    (void)place_of(batch, *tensor.column);
    tensor.column_part = from_word("part", part, kColumnParts);
  } else {
    tensor.part = from_word("part", part, kParts);
  }
  return tensor;
}

py::str shown_tensor(const Tensor& tensor) {
  const std::string column = tensor.column.has_value() ? " of column \"" + *tensor.column + '"' : "";
  const std::string_view part = tensor.column.has_value() ? format::word_of(kColumnParts, tensor.column_part)
                                                          : format::word_of(kParts, tensor.part);
  return message_text("<Tensor of " + std::string(part) + column + ">");
}

py::tuple host() {
  return py::make_tuple(static_cast<int>(kDLCPU), 0);
}

py::object to_dlpack_capsule(const Tensor& tensor, const py::object&, const py::object&, const py::object& device,
                             const py::object& copy) {
  if (copy.is(py::bool_(true))) throw py::buffer_error("a tensor of a batch is never copied; copy the result");
  if (!device.is_none() && !device.equal(host())) throw py::buffer_error("a tensor of a batch is in host memory");
  return to_capsule(tensor.to_dlpack());
}

py::object objects(const PyBatch& batch) {
  if (!batch.objects) refuse("the batch has no objects; give the reader a map, and outputs=\"objects\"");
  return batch.objects;
}

void release(PyBatch& batch, const py::object& stream) {
  if (stream.is_none()) return batch.release();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): frameworks represent a stream as a number
  batch.release(DeviceStream{reinterpret_cast<void*>(to_option<std::uintptr_t>("stream", stream))});
}

void set_up_batch(PyHeapTypeObject* heap_type) {
  see_through<PyBatch>(heap_type);
  // pybind11 2.10 does not check what it allocates. Batches are made by C++, through which an
  // exception may pass.
  heap_type->ht_type.tp_alloc = [](PyTypeObject* type, Py_ssize_t items) {
    PyObject* const object = PyType_GenericAlloc(type, items);
    if (object == nullptr) throw py::error_already_set();
    return object;
  };
}

}  // namespace

void bind_batch(py::module_& module) {
  py::class_<Tensor>(
      module, "Tensor",
      R"(A part of a batch for `from_dlpack` of a framework, as often as asked for. What is made of it keeps the slot, and can be
written to, which arrays forbid and DLPack cannot: that changes the batch, for all who look into it.)")
      .def("__dlpack__", to_dlpack_capsule, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
           R"(The capsule, for memory of the host. Of no version: whoever takes a newer one takes it as well.

Raises:
    BufferError: where a copy is asked for, or another device. ClosedError: in a forked child.)")
      .def(
          "__dlpack_device__", [](const Tensor&) { return host(); }, R"((1, 0): the host.)")
      .def("__repr__", shown_tensor);

  py::class_<PyBatch> bound(module, "Batch", py::custom_type_setup(set_up_batch),
                            R"(One step's rows of one rank, in one slot of the reader.

Arrays look into the slot, without a copy, and are read-only. The slot is refilled only when the batch and all arrays and
tensors of it are gone; they may outlive the reader. Row i is `values[offsets[i]:offsets[i + 1]]`; with columns, `values`
holds these instead. `len()` is the number of rows, `batch[name]` a column: an array [rows, shape...], a `Ragged` or `Texts`.

A batch is no sequence: `in` asks for a column, and there is nothing to iterate over; `rows()` gives the rows, and
`dict(batch)` the columns by their names.

Raises:
    ClosedError: for use after `release()`, or in a process that was forked after the batch was read.)");
  bound.attr("__iter__") = py::none();  // otherwise Python tries batch[0]
  bound
      .def_property_readonly(
          "epoch", [](const PyBatch& batch) { return batch->epoch(); }, R"(Its epoch.)")
      .def_property_readonly(
          "step", [](const PyBatch& batch) { return batch->step(); }, R"(Its step in the epoch.)")
      .def_property_readonly(
          "valid", [](const PyBatch& batch) { return batch->valid(); },
          R"(Rows with the status FIRST: records that count, once.)")
      .def_property_readonly(
          "registered", [](const PyBatch& batch) { return batch->registered(); },
          R"(Whether it lies in memory registered with CUDA.)")
      .def_property_readonly("values", values, R"(The bytes of all rows, uint8 [bytes].)")
      .def_property_readonly("offsets", offsets, R"(Where rows begin and end in `values`, int64 [rows + 1].)")
      .def_property_readonly(
          "ids", ids,
          R"(The planned record of each row, uint64 [rows]; NO_ID if there is none. `tensor("ids")` is int64, with -1.)")
      .def_property_readonly("status", status,
                             R"(The status of each row, uint8 [rows]: EMPTY, FIRST, REPEATED and so on.)")
      .def_property_readonly(
          "objects", objects,
          R"(What `map` returned for each row, as a list, with `outputs="objects"` of the reader. Also the column "object".

A row without a good record is None. A row with the status SUBSTITUTED has the object of another row. They are not in the
slot, and stay after `release()`.)")
      .def_property_readonly("columns", columns, R"(The names of its columns, as a list.)")
      .def("__len__", [](const PyBatch& batch) { return batch->rows(); })
      .def("__getitem__", column, py::arg("column"))
      .def("__contains__", has_column, py::arg("column"))
      .def("__repr__", shown)
      .def("keys", columns, R"(The names of its columns, so that `dict(batch)` has them all.)")
      .def("items", items, R"(Pairs of name and column.)")
      .def(
          "__arrow_c_array__",
          [](const PyBatch& batch, const py::object&) {
            if (batch.objects) refuse("Arrow has no type for Python objects");
            return to_arrow_array(batch.get(), batch.values());
          },
          py::arg("requested_schema") = py::none(),
          R"(The columns, or the rows as "record", for readers of Arrow: no copy, and it keeps the slot.)")
      .def("row", row, py::arg("i"), R"(The bytes of a row, copied. Errors: IndexError.)")
      .def("rows", rows, R"(The bytes of all rows, as a list of copies.

`numpy.array` of it drops the zeros at the ends of rows, as it makes an array of texts. Where all rows have one size,
`numpy.from_dlpack(batch.tensor("rows"))` is an array [rows, bytes] of the same memory.)")
      .def("tensor", tensor, py::arg("part") = "values", py::arg("column") = py::none(),
           R"(A `Tensor` for `from_dlpack`, without a copy.

Args:
    part: "values", "rows" ([rows, bytes], where all have one size), "offsets", "ids" (int64, -1 for NO_ID) or "status"; of
        a column "values", "offsets" or "text_offsets".
    column: by its name.

Raises:
    UsageError, KeyError: for a part or column that is not there.)")
      .def(
          "state", [](const PyBatch& batch) { return batch->state().to_text(); },
          R"(The checkpoint after this batch, as text for `load_state_dict`.)")
      .def("release", release, py::arg("stream") = py::none(),
           R"(Gives up this object's share of the slot; arrays and tensors keep theirs. May be called again.

Args:
    stream: a CUDA stream as a number: the slot is refilled only after the copies in it have run.

Raises:
    BusyError: with a stream, where arrays or tensors are alive; DeviceError.)")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](PyBatch& batch, const py::args&) { batch.release(); });
}

}  // namespace dovetail::python
