// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/dataset.h>

#include "python/src/bindings.h"

namespace dovetail::python {

/// Makes Python's `DatasetDescription`.
py::object describe_dataset(const Dataset& dataset);

}  // namespace dovetail::python
