// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/convert.h>

namespace dovetail::detail {

/// What is probably not meant in a conversion that succeeded, for `ConvertReport::notes`.
/// `run_bytes` is the target size of runs, and 0 if their length was given. Without memory for them
/// there are none: the conversion has succeeded all the same.
std::vector<std::string> conversion_notes(const ConvertReport& report, bool shuffled, std::uint64_t run_bytes) noexcept;

}  // namespace dovetail::detail
