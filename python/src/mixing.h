// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/plan.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// A `ShuffleReport` of Python. Needs: an epoch that the plan has.
pybind11::object shuffle_report(const Plan& plan, const pybind11::object& epoch);

}  // namespace dovetail::python
