// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "python/src/bindings.h"
#include "python/src/gil.h"

namespace dovetail::python {

namespace {

/// Types and open readers belong to the process, so the end of a subinterpreter would close readers
/// of others. The package calls this as well, because CPython gives a second interpreter a copy of
/// the module without initialising it.
void refuse_subinterpreters() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return;
  throw py::import_error(
      "dovetail cannot be used in a subinterpreter; import it in the main one, or in its own process");
}

/// pybind11 allocates memory for an object that has none, because only `__new__` was called, and
/// would not initialise it.
void* refuse_empty(std::size_t) {
  throw py::type_error("this object of dovetail was never initialised; call its class, not only __new__");
}

/// Refuses copies of objects, and objects whose constructor was not called. Both would end the
/// process. Needs: everything is bound.
void guard_classes(const py::module_& module) {
  const py::object refuse_copies = import_module("dovetail._names").attr("refuse_copies");
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) == 0) continue;
    py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()))->operator_new = refuse_empty;
    call_object(refuse_copies, value);
  }
}

}  // namespace

}  // namespace dovetail::python

PYBIND11_MODULE(_dovetail, module) {
  using namespace dovetail::python;
  refuse_subinterpreters();
  module.doc() = "The native part of `dovetail`; import `dovetail` instead.";
  module.attr("__version__") = DOVETAIL_VERSION;
  module.def("refuse_subinterpreters", refuse_subinterpreters);
  bind_errors(module);
  bind_dataset(module);
  bind_plan(module);
  bind_batch(module);
  bind_reader(module);
  bind_records(module);
  bind_description(module);
  bind_writers(module);
  bind_conversion(module);
  bind_upkeep(module);
  bind_inspect(module);
  bind_example(module);
  bind_parse_example(module);
  guard_classes(module);
}
