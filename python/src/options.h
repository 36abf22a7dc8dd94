// SPDX-License-Identifier: Apache-2.0
// Converts Python's keyword arguments to options of the library.
#pragma once

#include <pybind11/pybind11.h>

#include <dovetail/plan.h>
#include <dovetail/reader_options.h>
#include <dovetail/record_writer.h>

namespace dovetail::python {

/// Sets the options that `given` names, except those that are None.
/// Errors: TypeError for an unknown name or a value of another type, `invalid_option` for a value
///         out of range.
void set_options(PlanOptions& options, const pybind11::dict& given);
/// Includes the options of the plan. Does not accept `log`.
void set_options(ReaderOptions& options, const pybind11::dict& given);

/// The options by name, in the form in which they are given.
pybind11::dict to_dict(const PlanOptions& options);

}  // namespace dovetail::python
