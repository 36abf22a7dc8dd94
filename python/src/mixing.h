// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/plan.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// Makes Python's `ShuffleReport`. Needs: an epoch of the plan.
pybind11::object shuffle_report(const Plan& plan, const pybind11::object& epoch);

}  // namespace dovetail::python
