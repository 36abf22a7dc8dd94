// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <dovetail/error.h>

namespace dovetail::python {

/// Makes the matching exception of dovetail._errors. Every `Exception` that leaves a bound function
/// is translated by it.
pybind11::object to_exception(const Error& error);

}  // namespace dovetail::python
