// SPDX-License-Identifier: Apache-2.0
// Converts Python's keyword arguments to options of the library.
#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include <dovetail/plan.h>
#include <dovetail/reader_options.h>
#include <dovetail/state.h>

namespace dovetail::python {

/// Sets the options that `given` names, except those that are None.
/// Errors: TypeError for an unknown name or a value of another type, `invalid_option` for a value
///         out of range.
void set_options(PlanOptions& options, const pybind11::dict& given);
/// Includes the options of the plan. Does not accept `log`.
void set_options(ReaderOptions& options, const pybind11::dict& given);

/// Errors: TypeError without `batch`, the only option that has no default.
void need_batch(const pybind11::dict& given);

/// The options by name, in the form in which they are given.
pybind11::dict to_dict(const PlanOptions& options);

/// The columns of a schema that have these names, in the order of the names.
/// Errors: TypeError for what is no text; `invalid_option` names a column that the schema lacks.
std::string pick_columns(const std::string& schema, const pybind11::sequence& names);

/// The place of a batch. Errors: TypeError, `invalid_option`.
Position to_position(const pybind11::object& epoch, const pybind11::object& step);
/// A state from its text, or from what `to_dict` gives. Errors: TypeError, `bad_state`.
State to_state(const pybind11::object& given);
/// The text of a state, and its place, by name.
pybind11::dict to_dict(const State& state);

}  // namespace dovetail::python
