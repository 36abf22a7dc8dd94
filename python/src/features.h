// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/dataset.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// Makes Python's `FeaturesReport`.
pybind11::object describe_features(const Dataset& dataset, const pybind11::object& threads,
                                   const pybind11::object& max_records);

}  // namespace dovetail::python
