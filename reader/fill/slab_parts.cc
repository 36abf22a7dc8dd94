// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/slab_parts.h"

#include <cstring>

namespace dovetail::detail {

SlabParts::SlabParts(std::span<std::byte> bytes, std::uint32_t rows) noexcept {
  const SlabLayout layout = SlabLayout::for_rows(rows);
  offsets = reinterpret_cast<std::int64_t*>(bytes.data() + layout.offsets);
  ids = reinterpret_cast<std::uint64_t*>(bytes.data() + layout.ids);
  status = reinterpret_cast<RowStatus*>(bytes.data() + layout.status);
  values = bytes.data() + layout.values;
  capacity = bytes.size() - layout.values;
}

std::array<std::uint32_t, kRowStatuses> count_status(std::span<const RowStatus> rows) noexcept {
  std::array<std::uint32_t, kRowStatuses> counts{};
  const auto count = [&](RowStatus status, std::size_t of) {
    const auto at = static_cast<std::size_t>(status);
    counts[at < kRowStatuses ? at : 0] += static_cast<std::uint32_t>(of);
  };
  // Nearly always all rows have the same status.
  if (std::memcmp(rows.data(), rows.data() + 1, rows.size() - 1) == 0) {
    count(rows[0], rows.size());
    return counts;
  }
  for (const RowStatus status : rows) count(status, 1);
  return counts;
}

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
