// SPDX-License-Identifier: Apache-2.0
#include "python/src/bindings.h"

#include <exception>

#include <boost/system/generic_category.hpp>
#include <boost/system/system_category.hpp>

#include "python/src/gil.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// The function of dovetail._errors that makes exceptions. Never freed.
py::handle& maker() {
  static py::handle function;
  return function;
}

}  // namespace

py::object to_exception(const Error& error) {
  const boost::system::error_code& code = error.code();
  const bool system =
      code.category() == boost::system::system_category() || code.category() == boost::system::generic_category();
  const py::object number = py::int_(code.value());
  const py::object none = py::none();
  return call_object(maker(), static_cast<int>(error.kind()), code.category() == error_category() ? number : none,
                     system ? number : none, message_text(error.to_string()), message_text(error.detail()),
                     error.path().empty() ? none : py::object(path_text(error.path())),
                     error.offset() ? py::object(py::int_(*error.offset())) : none);
}

void bind_errors(py::module_&) {
  maker() = import_module("dovetail._errors").attr("of_library").cast<py::object>().release();
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
