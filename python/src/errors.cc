// SPDX-License-Identifier: Apache-2.0
#include "python/src/errors.h"

#include <cerrno>
#include <exception>

#include <boost/system/generic_category.hpp>
#include <boost/system/system_category.hpp>

#include "python/src/bindings.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// Python's error classes, which are never freed.
struct Classes {
  PyObject* by_kind;     // the class of each ErrorKind, by its number
  PyObject* by_code;     // the class of codes that have a class of their own
  PyObject* codes;       // the ErrorCode of each code
  PyObject* missing;     // the class MissingFileError
  PyObject* of_storage;  // the class StorageError, which carries the error of the system

  static const Classes& get() {
    static const Classes classes = [] {
      const py::module_ module = py::module_::import("dovetail._errors");
      const auto kept = [&](const char* name) { return module.attr(name).cast<py::object>().release().ptr(); };
      return Classes{kept("BY_KIND"), kept("BY_CODE"), kept("CODES"), kept("MissingFileError"), kept("StorageError")};
    }();
    return classes;
  }
};

/// A borrowed reference; null if the dict has no such item.
PyObject* item(PyObject* dict, int number) {
  return PyDict_GetItemWithError(dict, py::int_(number).ptr());
}

/// Delays garbage collection, because finalizers run Python code. Before Python 3.10 the C API
/// cannot delay it.
class WithoutCollection {
 public:
  WithoutCollection() = default;
  WithoutCollection(const WithoutCollection&) = delete;
  WithoutCollection& operator=(const WithoutCollection&) = delete;
#if PY_VERSION_HEX >= 0x030A0000
  ~WithoutCollection() {
    if (was_on_) PyGC_Enable();
  }

 private:
  bool was_on_ = PyGC_Disable() != 0;
#endif
};

}  // namespace

py::object to_exception(const Error& error) {
  [[maybe_unused]] const WithoutCollection without_collection;
  const Classes& classes = Classes::get();
  const boost::system::error_code& code = error.code();
  const bool system =
      code.category() == boost::system::system_category() || code.category() == boost::system::generic_category();
  PyObject* type = item(classes.by_kind, static_cast<int>(error.kind()));
  PyObject* named = nullptr;
  if (code.category() == error_category()) {
    named = item(classes.codes, code.value());
    if (PyObject* const other = item(classes.by_code, code.value())) type = other;
  }
  const bool of_storage = type == classes.of_storage;
  if (of_storage && system && code.value() == ENOENT) type = classes.missing;
  const py::str message = message_text(error.to_string());
  const py::object path = error.path().empty() ? py::object(py::none()) : py::object(path_text(error.path()));
  // Does what `__init__` does, which would run Python code.
  const auto arguments = py::make_tuple(message);
  auto exception = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyTypeObject*>(type)->tp_new(reinterpret_cast<PyTypeObject*>(type), arguments.ptr(), nullptr));
  if (!exception) throw py::error_already_set();
  exception.attr("args") = arguments;
  exception.attr("message") = message;
  exception.attr("code") = named == nullptr ? py::object(py::none()) : py::reinterpret_borrow<py::object>(named);
  exception.attr("detail") = message_text(error.detail());
  exception.attr("path") = path;
  exception.attr("offset") = error.offset() ? py::object(py::int_(*error.offset())) : py::object(py::none());
  if (of_storage) {
    exception.attr("errno") = system ? py::object(py::int_(code.value())) : py::object(py::none());
    exception.attr("strerror") = system ? message_text(code.message()) : message;
    exception.attr("filename") = path;
  }
  return exception;
}

void bind_errors(py::module_&) {
  Classes::get();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const Exception& failure) {
      const py::object exception = to_exception(failure.error());
      PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
    }
  });
}

}  // namespace dovetail::python
