// SPDX-License-Identifier: Apache-2.0
#include "python/src/arrow.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/schema.h>

#include "python/src/arguments.h"
#include "python/src/gil.h"

// The structures of the Arrow C data interface, as its specification defines them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace dovetail::python {

namespace py = pybind11;

namespace {

constexpr std::uint64_t kStreamBatchBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kStreamBatchRows = 1024;

/// An array and its type, from which both structures are made. No value is null, so the first
/// buffer, the validity bitmap, is.
struct Node {
  std::string name;
  std::string format;
  std::int64_t length = 0;
  std::vector<const void*> buffers;
  std::vector<Node> children;
};

std::string format_of(Dtype dtype) {
  constexpr std::string_view kFormats = "CcSsIiLlefgZ";
  return std::string(1, kFormats[static_cast<std::size_t>(dtype)]);
}

/// Offsets of up to `end` items, checked. Tensors allow writes to the offsets of a batch, and a
/// consumer trusts them.
const std::int64_t* checked(std::span<const std::int64_t> offsets, std::size_t end) {
  if (offsets.empty()) return nullptr;  // for a schema without data
  const bool good = offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()) &&
                    static_cast<std::uint64_t>(offsets.back()) <= end;
  if (!good) refuse("the offsets of the batch were written to, through a tensor; copy the data that you change");
  return offsets.data();
}

/// `rows` is the number of leading rows to use.
Node column_node(const ColumnView& view, std::int64_t rows) {
  const Column& column = *view.column;
  const std::int64_t* const text_offsets = checked(view.text_offsets, view.values.size());
  const std::size_t entries =
      view.text_offsets.empty() ? view.values.size() / dtype_bytes(column.dtype) : view.text_offsets.size() - 1;
  const std::int64_t* const offsets = checked(view.offsets, entries / column.values());
  const std::int64_t items = offsets != nullptr ? offsets[rows] : rows;
  Node node{"item", format_of(column.dtype), items * static_cast<std::int64_t>(column.values()), {nullptr}, {}};
  if (column.dtype == Dtype::bytes) node.buffers.push_back(text_offsets);
  node.buffers.push_back(view.values.data());
  for (auto size = column.shape.rbegin(); size != column.shape.rend(); ++size) {
    const std::int64_t length = *size == 0 ? 0 : node.length / *size;
    node = Node{"item", "+w:" + std::to_string(*size), length, {nullptr}, {std::move(node)}};
  }
  if (column.ragged) node = Node{"item", "+L", rows, {nullptr, offsets}, {std::move(node)}};
  node.name = column.name;
  return node;
}

Node record_node(std::int64_t rows, std::span<const std::int64_t> offsets, ByteView values) {
  return Node{"record", format_of(Dtype::bytes), rows, {nullptr, checked(offsets, values.size()), values.data()}, {}};
}

Node struct_node(std::int64_t rows, std::vector<Node> children) {
  return Node{"", "+s", rows, {nullptr}, std::move(children)};
}

Node batch_node(const Batch& batch, ByteView values, std::int64_t rows) {
  std::vector<Node> children;
  if (const Schema* const schema = batch.schema()) {
    for (std::size_t i = 0; i < schema->columns.size(); ++i) children.push_back(column_node(batch.column(i), rows));
  } else {
    children.push_back(record_node(rows, batch.offsets(), values));
  }
  return struct_node(rows, std::move(children));
}

Node schema_node(const std::optional<Schema>& schema) {
  std::vector<Node> children;
  if (!schema.has_value()) children.push_back(record_node(0, {}, {}));
  if (schema.has_value()) {
    for (const Column& column : schema->columns) children.push_back(column_node({&column, {}, {}, {}}, 0));
  }
  return struct_node(0, std::move(children));
}

/// Releases a structure that the consumer has not moved away.
template <class Structure>
void release_structure(Structure* structure) {
  if (structure->release != nullptr) structure->release(structure);
}

/// The children of a structure, and the array of pointers to them.
template <class Structure>
struct Children {
  std::vector<Structure> structures;
  std::vector<Structure*> pointers;

  explicit Children(std::size_t count) : structures(count) {
    for (Structure& each : structures) pointers.push_back(&each);
  }
  ~Children() {
    for (Structure& each : structures) release_structure(&each);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
};

struct SchemaParts {
  std::string name;
  std::string format;
  Children<ArrowSchema> children;
};

struct ArrayParts {
  std::vector<const void*> buffers;
  std::shared_ptr<const void> owner;
  Children<ArrowArray> children;
};

/// The release function of a structure whose private data are `Parts`.
template <class Structure, class Parts>
void release_parts(Structure* structure) {
  delete static_cast<Parts*>(structure->private_data);
  structure->release = nullptr;
}

void fill(ArrowSchema& schema, const Node& node) {
  std::unique_ptr<SchemaParts> parts(
      new SchemaParts{node.name, node.format, Children<ArrowSchema>(node.children.size())});
  for (std::size_t i = 0; i < node.children.size(); ++i) fill(parts->children.structures[i], node.children[i]);
  schema = {parts->format.c_str(),
            parts->name.c_str(),
            nullptr,
            0,
            static_cast<std::int64_t>(node.children.size()),
            parts->children.pointers.data(),
            nullptr,
            release_parts<ArrowSchema, SchemaParts>,
            nullptr};
  schema.private_data = parts.release();
}

void fill(ArrowArray& array, const Node& node, const std::shared_ptr<const void>& owner) {
  std::unique_ptr<ArrayParts> parts(new ArrayParts{node.buffers, owner, Children<ArrowArray>(node.children.size())});
  for (std::size_t i = 0; i < node.children.size(); ++i) fill(parts->children.structures[i], node.children[i], owner);
  array = {node.length,
           0,
           0,
           static_cast<std::int64_t>(node.buffers.size()),
           static_cast<std::int64_t>(node.children.size()),
           parts->buffers.data(),
           parts->children.pointers.data(),
           nullptr,
           release_parts<ArrowArray, ArrayParts>,
           nullptr};
  array.private_data = parts.release();
}

/// Redirects all buffers from one memory region to a copy of it.
void rebase(Node& node, const std::byte* from, const std::byte* to) {
  for (const void*& buffer : node.buffers) {
    if (buffer != nullptr) buffer = to + (static_cast<const std::byte*>(buffer) - from);
  }
  for (Node& child : node.children) rebase(child, from, to);
}

template <class Structure>
py::object arrow_capsule(std::unique_ptr<Structure> structure, const char* name) {
  const auto destroy = [](PyObject* capsule) {
    auto* const held = static_cast<Structure*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    release_structure(held);
    delete held;
  };
  PyObject* const capsule = PyCapsule_New(structure.get(), name, destroy);
  if (capsule == nullptr) {
    release_structure(structure.get());
    throw py::error_already_set();
  }
  (void)structure.release();
  return py::reinterpret_steal<py::object>(capsule);
}

/// All records of a dataset, batch by batch. Does not take the interpreter lock.
class Stream {
 public:
  Stream(std::optional<Schema> schema, std::optional<BatchReader> reader)
      : schema_(std::move(schema)), reader_(std::move(reader)) {}

  static Stream& of(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

  static int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
    return of(stream).guarded([&](Stream& self) { fill(*schema, schema_node(self.schema_)); });
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* array) {
    return of(stream).guarded([&](Stream& self) { self.next(*array); });
  }
  static const char* get_last_error(ArrowArrayStream* stream) { return of(stream).error_.c_str(); }

 private:
  template <class Call>
  int guarded(Call call) {
    try {
      call(*this);
      return 0;
    } catch (const std::exception& failure) {
      error_ = failure.what();
      return EIO;
    }
  }

  /// At the end the array has no `release` function.
  void next(ArrowArray& array) {
    array = {};
    if (!reader_.has_value()) return;
    const std::optional<Batch> batch = reader_->next().value();
    if (!batch.has_value()) return;
    const ByteView slab = batch->slab();
    const auto copy = std::make_shared<std::vector<std::byte>>(slab.begin(), slab.end());
    Node node = batch_node(*batch, batch->values(),
                           batch->valid());  // all others are the empty rows at the end of the last batch
    rebase(node, slab.data(), copy->data());
    fill(array, node, copy);
  }

  std::optional<Schema> schema_;
  std::optional<BatchReader> reader_;
  std::string error_;
};

std::optional<BatchReader> open_reader(const Dataset& dataset, const std::optional<Schema>& schema) {
  if (dataset.records() == 0) return std::nullopt;
  std::uint64_t longest = 1;
  for (const ShardInfo& shard : dataset.shards()) longest = std::max<std::uint64_t>(longest, shard.max_record_bytes);
  const std::uint64_t rows = std::min(std::max<std::uint64_t>(1, kStreamBatchBytes / longest), kStreamBatchRows);
  ReaderOptions options;
  options.plan.batch = static_cast<std::uint32_t>(std::min(rows, dataset.records()));
  options.plan.order = OrderKind::sequential;
  options.plan.tail = Tail::pad;
  options.epochs = 1;
  options.columns = schema;
  options.registration = Registration::off;
  return BatchReader::open(dataset, options).value();
}

}  // namespace

py::tuple to_arrow_array(const std::shared_ptr<const Batch>& batch, ByteView values) {
  const Node node = batch_node(*batch, values, batch->rows());
  auto schema = std::make_unique<ArrowSchema>();
  fill(*schema, node);
  py::object of_schema = arrow_capsule(std::move(schema), "arrow_schema");
  auto array = std::make_unique<ArrowArray>();
  fill(*array, node, batch);
  return py::make_tuple(of_schema, arrow_capsule(std::move(array), "arrow_array"));
}

py::object to_arrow_stream(const Dataset& dataset, std::optional<Schema> schema) {
  auto parts = [&] {
    const Unlocked unlocked;
    std::optional<BatchReader> reader = open_reader(dataset, schema);
    return std::make_unique<Stream>(std::move(schema), std::move(reader));
  }();
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {Stream::get_schema, Stream::get_next, Stream::get_last_error, release_parts<ArrowArrayStream, Stream>,
             parts.release()};
  return arrow_capsule(std::move(stream), "arrow_array_stream");
}

}  // namespace dovetail::python
