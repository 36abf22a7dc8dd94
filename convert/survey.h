// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <dovetail/error.h>

#include "convert/input_line.h"

namespace dovetail::detail {

/// What the first records tell of all of them.
struct Survey {
  std::uint64_t run_records = 1;
  // Estimated unless the whole input was looked at.
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
};

/// Reads the beginning of a line: until the records amount to `run_bytes`, and the input to 1 MiB or the records to
/// 16 MiB. The same input gives the same answer. `cancelled` as in `SourceOptions`.
/// Errors: as `LineCursor`; `empty_input` where there is no record at all.
Result<Survey> survey(const InputLine& line, std::uint64_t run_bytes, const std::function<bool()>& cancelled);

}  // namespace dovetail::detail
