// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <dovetail/error.h>

namespace dovetail::python {

/// The exception of dovetail._errors that fits. Any `Exception` that leaves a bound function becomes one.
///
/// Runs no code of Python's own, which would give up the interpreter lock.
pybind11::object to_exception(const Error& error);

}  // namespace dovetail::python
