// SPDX-License-Identifier: Apache-2.0
// Options of the library from Python's keyword arguments.
#pragma once

#include <pybind11/pybind11.h>

#include <dovetail/plan.h>
#include <dovetail/reader_options.h>
#include <dovetail/record_writer.h>

namespace dovetail::python {

/// Sets the options that `given` names; those that are None stay as they are.
/// Errors: TypeError for a name that is none or a value of another type, `invalid_option` for one out of its range.
void set_options(PlanOptions& options, const pybind11::dict& given);
/// Those of the plan among them. `log` is not for here.
void set_options(ReaderOptions& options, const pybind11::dict& given);

/// By option, as they would be given.
pybind11::dict to_dict(const PlanOptions& options);

}  // namespace dovetail::python
