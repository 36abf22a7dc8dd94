// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <dovetail/error.h>

namespace dovetail::tools {

/// Records [first, end) of a dataset.
struct IdRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> end;
};

/// Parses `A:B`, `A:`, `:B`, `:`, or one number. Errors: `invalid_option`.
Result<IdRange> parse_range(std::string_view text);

}  // namespace dovetail::tools
