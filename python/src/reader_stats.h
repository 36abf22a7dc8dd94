// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/reader_stats.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// The members of `stats.to_json()`, with the names of files as the system has them.
pybind11::object to_dict(const ReaderStats& stats);

}  // namespace dovetail::python
