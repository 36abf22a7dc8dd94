// SPDX-License-Identifier: Apache-2.0
// Encodes Python values as records of tf.train.Example.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "format/example/example_encoder.h"
#include "python/src/arguments.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/buffer.h"
#include "python/src/gil.h"

namespace dovetail::python {

namespace {

[[noreturn]] void refuse_type(const std::string& name, const std::string& why) {
  throw py::type_error("feature \"" + name + "\": " + why);
}

/// Adds features one by one. Keeps the bytes that the encoder borrows.
class Features {
 public:
  void add(const std::string& name, const py::object& value) {
    if (is_array(value)) return add_array(name, value);
    if (is_bytes(value)) return encoder_.add_bytes(name, keep(name, value));
    if (is_array_of_others(value)) return add_array(name, call_object(import_module("numpy").attr("asarray"), value));
    if (is_int(value)) return encoder_.add_int(name, to_int(name, value));
    if (PyNumber_Check(value.ptr()) != 0) return encoder_.add_float(name, to_float(name, value));
    if (py::isinstance<py::sequence>(value)) return add_list(name, value);
    if (value.is_none()) refuse_type(name, "None is no value: leave out the feature; its column may have a fallback");
    refuse_type(name, "it must be bytes, a string, a number, a list of one of these, or an array");
  }

  py::bytes encode() {
    std::vector<std::byte> record;
    encoder_.encode(record).value();
    return {reinterpret_cast<const char*>(record.data()), record.size()};
  }

 private:
  static bool is_bytes(const py::handle& value) {
    return py::isinstance<py::str>(value) || PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr()) ||
           PyMemoryView_Check(value.ptr());
  }
  /// Arrays of PyTorch, pandas and other libraries. An array without dimensions is a number, like
  /// NumPy's scalars.
  static bool is_array_of_others(const py::handle& value) {
    if (PyLong_CheckExact(value.ptr()) || PyFloat_CheckExact(value.ptr()) || PyList_CheckExact(value.ptr())) {
      return false;  // looking for their attributes takes longer than encoding them
    }
    if (!find_attribute(value, "__array__")) return false;
    const py::object dimensions = find_attribute(value, "ndim");
    if (!dimensions) return false;
    const int some = call_python(PyObject_RichCompareBool, dimensions.ptr(), py::int_(0).ptr(), Py_GT);
    if (some < 0) throw py::error_already_set();
    return some != 0;
  }
  /// Booleans of NumPy have no `__index__` since version 2.3.
  static bool is_numpy_bool(const py::handle& value) {
    return std::string_view(Py_TYPE(value.ptr())->tp_name).starts_with("numpy.bool");
  }
  static bool is_int(const py::handle& value) { return PyIndex_Check(value.ptr()) != 0 || is_numpy_bool(value); }

  ByteView keep(const std::string& name, const py::handle& value) {
    if (py::isinstance<py::str>(value)) {
      return as_bytes(texts_.emplace_back(to_utf8("feature \"" + name + '"', value)));
    }
    try {
      return buffers_.emplace_back(value).bytes();
    } catch (const py::type_error& refused) {
      refuse_type(name, refused.what());
    }
  }

  static std::int64_t to_int(const std::string& name, const py::handle& value) {
    if (is_numpy_bool(value)) return PyObject_IsTrue(value.ptr());
    const auto number = py::reinterpret_steal<py::object>(call_python(PyNumber_Index, value.ptr()));
    if (!number) {
      forget_error({PyExc_TypeError, PyExc_ValueError});
      refuse_type(name, "it is not a whole number; for a tensor give .tolist()");
    }
    int beyond = 0;
    const long long small = PyLong_AsLongLongAndOverflow(number.ptr(), &beyond);
    if (beyond != 0) refuse("feature \"" + name + "\": integers must fit int64");
    return small;
  }

  static float to_float(const std::string& name, const py::handle& value) {
    const std::optional<double> number = real_number(value);
    if (!number.has_value()) refuse_type(name, "it is not a real number");
    const auto small = static_cast<float>(*number);
    if (std::isinf(small) && !std::isinf(*number)) {
      refuse("feature \"" + name + "\": floats have 32 bits, which cannot hold " + std::string(py::repr(value)));
    }
    return small;
  }

  void add_array(const std::string& name, const py::object& value) {
    const py::dtype type = py::reinterpret_borrow<py::array>(value).dtype();
    // See need_numpy() about itemsize().
    const auto size = py::cast<std::size_t>(type.attr("itemsize"));
    if (type.kind() == 'u' && size == 1) {
      return encoder_.add_bytes(name, keep(name, call_object(import_module("numpy").attr("ascontiguousarray"), value)));
    }
    if (type.kind() == 'i' || type.kind() == 'b' || (type.kind() == 'u' && size < 8)) {
      const auto numbers = to_array_of<std::int64_t>(value);
      return encoder_.add_ints(name, {numbers.data(), static_cast<std::size_t>(numbers.size())});
    }
    if (type.kind() == 'f' && size <= 4) {
      const auto numbers = to_array_of<float>(value);
      return encoder_.add_floats(name, {numbers.data(), static_cast<std::size_t>(numbers.size())});
    }
    const bool texts = type.kind() == 'U' || type.kind() == 'S' || type.kind() == 'O';
    const char* const instead = texts ? "array.tolist()"
                                : type.kind() == 'f'
                                    ? "array.astype(numpy.float32), or array.tobytes() to keep all bits"
                                    : "array.tobytes() to keep the bits";
    refuse_type(name, "arrays of " + std::string(py::str(py::handle(type))) +
                          " do not fit, because tf.train.Example has only bytes, integers that fit int64 and floats "
                          "of 32 bits; give " +
                          instead);
  }

  void add_list(const std::string& name, const py::object& value) {
    const std::vector<py::object> items = to_items("feature \"" + name + '"', value, "a list");
    if (items.empty()) {
      refuse_type(name,
                  "an empty list has no type; leave out the feature, or give an empty array of the type of the others, "
                  "such as numpy.array([], numpy.int64)");
    }
    if (is_bytes(items.front())) {
      std::vector<ByteView> views;
      for (const py::object& item : items) {
        if (!is_bytes(item)) refuse_type(name, "bytes and numbers are mixed");
        views.push_back(keep(name, item));
      }
      return encoder_.add_bytes(name, views);
    }
    for (const py::object& item : items) {
      if (is_bytes(item) || PyNumber_Check(item.ptr()) == 0)
        refuse_type(name, "the list has items that are not numbers; for several dimensions give a NumPy array");
    }
    if (std::all_of(items.begin(), items.end(), [](const py::object& item) { return is_int(item); })) {
      std::vector<std::int64_t> numbers;
      numbers.reserve(items.size());
      for (const py::object& item : items) numbers.push_back(to_int(name, item));
      return encoder_.add_ints(name, numbers);
    }
    std::vector<float> numbers;
    numbers.reserve(items.size());
    for (const py::object& item : items) numbers.push_back(to_float(name, item));
    encoder_.add_floats(name, numbers);
  }

  format::ExampleEncoder encoder_;
  std::deque<Buffer> buffers_;
  std::deque<std::string> texts_;
};

py::bytes example(const py::args& given, const py::kwargs& named) {
  if (!given.empty()) throw py::type_error("features are given by name, as example(**features)");
  need_numpy();
  Features features;
  for (const auto& [name, value] : named) {
    features.add(to_utf8("the name of a feature", name), py::reinterpret_borrow<py::object>(value));
  }
  return features.encode();
}

}  // namespace

void bind_example(py::module_& module) {
  module.def("example", example, R"(A record of tf.train.Example from features by name.

Args:
    features: bytes, a string, a number, a list of one of these, or an array, also a tensor that NumPy takes: integers
        that fit int64, floats of at most 32 bits; arrays of uint8 are bytes.

Raises:
    TypeError, UsageError: for what does not fit; they name the feature.)");
}

}  // namespace dovetail::python
