// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/substitution.h"

#include <algorithm>
#include <vector>

#include "reader/fill/substitution.h"

namespace dovetail::detail {

Result<void> substitute_rows(Slab& slab, std::uint32_t rows_per_lane) {
  const std::uint32_t rows = slab.rows();
  std::vector<std::uint32_t> source = substitution_sources({slab.status(), rows}, rows_per_lane);
  const std::vector<std::int64_t> old(slab.offsets(), slab.offsets() + rows + 1);
  auto total = static_cast<std::uint64_t>(old[rows]);
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (source[r] == r) continue;
    const auto bytes = static_cast<std::uint64_t>(old[source[r] + 1] - old[source[r]]);
    if (slab.may_grow() || total + bytes <= slab.capacity()) {
      total += bytes;
    } else {
      source[r] = r;  // it stays empty rather than fail a step whose own rows fit
    }
  }
  const std::vector<std::byte> packed(slab.values(), slab.values() + old[rows]);
  if (Result<void> room = slab.reserve(total, 0); !room.has_value()) return room;

  std::int64_t end = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint32_t from = source[r];
    const auto bytes = static_cast<std::size_t>(old[from + 1] - old[from]);
    std::copy_n(packed.data() + old[from], bytes, slab.values() + end);
    end += static_cast<std::int64_t>(bytes);
    slab.offsets()[r + 1] = end;
    if (from != r) slab.status()[r] = substituted(slab.status()[r]);
  }
  return {};
}

}  // namespace dovetail::detail
