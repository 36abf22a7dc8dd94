// SPDX-License-Identifier: Apache-2.0
// The parts of the Python module. Each is bound in the source of the same name. Functions that
// several parts use are below.
#pragma once

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/plan.h>
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

/// Makes the matching exception of dovetail._errors. Every `Exception` that leaves a bound function
/// is translated by it.
py::object to_exception(const Error& error);

/// Makes Python's `DatasetDescription`.
py::object describe_dataset(const Dataset& dataset);
/// Makes Python's `FeaturesReport`.
py::object describe_features(const Dataset& dataset, const py::object& threads, const py::object& max_records);
/// Makes Python's `ShuffleReport` of an epoch of the plan.
py::object shuffle_report(const Plan& plan, const py::object& epoch);

}  // namespace dovetail::python
