// SPDX-License-Identifier: Apache-2.0
#include "python/src/errors.h"

#include <exception>

#include <boost/system/generic_category.hpp>
#include <boost/system/system_category.hpp>

#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

const char* word_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::damaged:
      return "damaged";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::io:
      return "io";
    case ErrorKind::cancelled:
      break;
  }
  return "cancelled";
}

py::object none_or_number(bool there, int number) {
  return there ? py::object(py::int_(number)) : py::object(py::none());
}

}  // namespace

py::object to_exception(const Error& error) {
  const boost::system::error_code& code = error.code();
  const bool own = code.category() == error_category();
  const bool system =
      code.category() == boost::system::system_category() || code.category() == boost::system::generic_category();
  const py::object path = error.path().empty() ? py::object(py::none()) : py::object(path_text(error.path()));
  const py::object offset = error.offset() ? py::object(py::int_(*error.offset())) : py::object(py::none());
  return call_python([&] {
    return py::object(py::module_::import("dovetail._errors")
                          .attr("from_parts")(word_of(error.kind()), none_or_number(own, code.value()),
                                              none_or_number(system, code.value()), message_text(error.to_string()),
                                              message_text(error.detail()), path, offset));
  });
}

void bind_errors(py::module_&) {
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
