// SPDX-License-Identifier: Apache-2.0
#include "python/src/bindings.h"

PYBIND11_MODULE(_dovetail, module) {
  using namespace dovetail::python;
  module.doc() = "The library as Python sees it; import `dovetail`, which is documented.";
  module.attr("__version__") = DOVETAIL_VERSION;
  bind_errors(module);
  bind_dataset(module);
  bind_plan(module);
  bind_batch(module);
  bind_reader(module);
  bind_records(module);
  bind_writers(module);
  bind_conversion(module);
  bind_example(module);
}
