// SPDX-License-Identifier: Apache-2.0
// The parts of the Python module. Each is bound in the source of the same name.
#pragma once

#include <pybind11/pybind11.h>

namespace dovetail::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_dataset(py::module_& module);
void bind_plan(py::module_& module);
void bind_batch(py::module_& module);
void bind_reader(py::module_& module);
void bind_records(py::module_& module);
void bind_description(py::module_& module);
void bind_writers(py::module_& module);
void bind_conversion(py::module_& module);
void bind_upkeep(py::module_& module);
void bind_inspect(py::module_& module);
void bind_example(py::module_& module);
void bind_parse_example(py::module_& module);

}  // namespace dovetail::python
