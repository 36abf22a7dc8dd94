// SPDX-License-Identifier: Apache-2.0
// Decodes a record of tf.train.Example to Python values.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <pybind11/numpy.h>

#include "format/example/example_wire.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/buffer.h"

namespace dovetail::python {

namespace {

template <class Number>
py::array numbers_of(const format::FeatureView& feature) {
  py::array_t<Number> array = new_array<Number>(feature.count);
  Number* to = array.mutable_data();
  format::FeatureValues values(feature);
  while (values.next(*to)) ++to;
  return array;
}

py::list bytes_of(const format::FeatureView& feature) {
  py::list list;
  format::FeatureValues values(feature);
  for (ByteView value; values.next(value);) {
    list.append(py::bytes(reinterpret_cast<const char*>(value.data()), value.size()));
  }
  return list;
}

py::object values_of(const format::FeatureView& feature) {
  switch (feature.kind) {
    case format::FeatureKind::bytes:
      return bytes_of(feature);
    case format::FeatureKind::floats:
      return numbers_of<float>(feature);
    case format::FeatureKind::ints:
      return numbers_of<std::int64_t>(feature);
    case format::FeatureKind::none:
      break;
  }
  return py::none();
}

py::dict parse_example(const py::object& record) {
  need_numpy();
  const Buffer given(record);
  // A copy, because other threads may write to the record.
  const std::vector<std::byte> bytes(given.bytes().begin(), given.bytes().end());
  format::ExampleFeatures features;
  if (auto parsed = features.parse(bytes); !parsed) {
    const std::string_view text = as_chars(bytes);
    const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const bool json = text.substr(first).starts_with('{');
    const Error& error = parsed.error();
    throw Exception(json ? Error(error.code(), error.detail() + "; the record looks like JSON, so use json.loads")
                         : error);
  }
  py::dict dict;
  for (const format::FeatureView& feature : features.all()) {
    // The name is UTF-8.
    dict[py::str(feature.name.data(), feature.name.size())] = values_of(feature);
  }
  return dict;
}

}  // namespace

void bind_parse_example(py::module_& module) {
  module.def("parse_example", parse_example, py::arg("record"),
             R"(The features of a record of tf.train.Example, by name.

Args:
    record: bytes or bytes-like, as `batch.row(i)` gives them.

Returns:
    For each feature a list of bytes, or an array of its own memory, float32 or int64; None where it holds no list.

Raises:
    DamagedError: for what is no such record.)");
}

}  // namespace dovetail::python
