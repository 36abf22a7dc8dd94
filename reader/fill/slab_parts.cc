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

}  // namespace dovetail::detail
