// SPDX-License-Identifier: Apache-2.0
#include "python/src/bindings.h"

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
  explain_misfits(module);
}
