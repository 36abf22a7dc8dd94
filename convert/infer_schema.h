// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/schema.h>

#include "convert/input_line.h"

namespace dovetail::detail {

struct InferredSchema {
  Schema schema;
  /// Names columns that some records lack; empty if there are none.
  std::string note;
};

/// Reads all records of a line for the columns of their features, with up to 8 threads. The schema
/// and the error of a record do not depend on `jobs`. `cancelled` is as in `SourceOptions`; any
/// thread calls it.
/// Errors: as `LineCursor`; `invalid_option` if a record is not an Example, a feature with values
///         cannot be a column, or there is no column.
/// Cost:   up to 24 MiB for each thread, and 24 MiB.
Result<InferredSchema> infer_schema(const InputLine& line, unsigned jobs, const std::function<bool()>& cancelled);

}  // namespace dovetail::detail
