// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <dovetail/error.h>

#include "convert/input_line.h"
#include "sources/bytes/skip_count.h"

namespace dovetail::detail {

/// The error for sources without records: `empty_input`. If some were skipped, names the error of
/// the first one.
Error no_record(const InputLine& line, const SkipTally& skipped);

/// Estimates from the first records.
struct Survey {
  std::uint64_t run_records = 1;
  // Exact if the whole input was read.
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
};

/// Reads the beginning of a line: until the sizes of the records can decide the run length, and
/// either the input reaches 1 MiB or the records 16 MiB. The same input gives the same result.
/// `cancelled` as in `SourceOptions`.
/// Errors: as `LineCursor`; `empty_input` if there is no record.
Result<Survey> survey(const InputLine& line, std::uint64_t run_bytes, const std::function<bool()>& cancelled);

}  // namespace dovetail::detail
