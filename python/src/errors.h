// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <dovetail/error.h>

namespace dovetail::python {

/// The exception of dovetail._errors that fits. Any `Exception` that leaves a bound function becomes one.
///
/// Runs no code of Python's own: while an exception of C++ is handled, nothing may wait for the interpreter lock (see gil.h).
pybind11::object to_exception(const Error& error);

}  // namespace dovetail::python
