// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>

#include "writer/descriptor.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// Opens a new unnamed file in a folder for reading and writing. It is removed with the last
/// descriptor.
/// Errors: the system's.
Result<Descriptor> open_unnamed(const OutputFolder& folder);

}  // namespace dovetail::detail
