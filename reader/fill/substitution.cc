// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/substitution.h"

#include "reader/fill/slab_parts.h"

namespace dovetail::detail {

std::vector<std::uint32_t> substitution_sources(std::span<const RowStatus> status, std::uint32_t rows_per_lane) {
  const auto rows = static_cast<std::uint32_t>(status.size());
  std::vector<std::uint32_t> source(rows);
  for (std::uint32_t lane = 0; lane < rows; lane += rows_per_lane) {
    const auto find = [&, good = rows](std::uint32_t r) mutable {
      if (status[r] == RowStatus::first || status[r] == RowStatus::repeated) good = r;
      return is_damaged_empty(status[r]) ? good : r;
    };
    auto before = find;
    auto after = find;
    for (std::uint32_t r = lane; r < lane + rows_per_lane; ++r) source[r] = before(r);
    for (std::uint32_t r = lane + rows_per_lane; r-- > lane;) {
      const std::uint32_t behind = after(r);
      if (source[r] == rows) source[r] = behind == rows ? r : behind;
    }
  }
  return source;
}

}  // namespace dovetail::detail
