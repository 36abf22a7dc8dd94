// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/batch.h>
#include <dovetail/order.h>

namespace dovetail::detail {

/// Addresses of the parts of a slab.
struct SlabParts {
  SlabParts() = default;
  SlabParts(std::span<std::byte> bytes, std::uint32_t rows) noexcept;

  std::int64_t* offsets = nullptr;
  std::uint64_t* ids = nullptr;
  RowStatus* status = nullptr;
  std::byte* values = nullptr;
  std::uint64_t capacity = 0;  ///< Room for values, in bytes.
};

/// The status of a row whose record is damaged. Needs: a record is planned for the row.
constexpr RowStatus damaged_empty(RowStatus status) noexcept {
  return is_repetition(status) ? RowStatus::repeated_damaged_empty : RowStatus::damaged_empty;
}

/// The status of such a row after a neighbouring row was copied to it.
constexpr RowStatus substituted(RowStatus status) noexcept {
  return is_repetition(status) ? RowStatus::repeated_substituted : RowStatus::substituted;
}

/// Whether the row's record is damaged and no neighbour was copied to it.
constexpr bool is_damaged_empty(RowStatus status) noexcept {
  return is_damaged(status) && status == damaged_empty(status);
}

/// Counts the rows of each status. Invalid values count as `empty`: with replay, the trainer may
/// have written into the batch.
std::array<std::uint32_t, kRowStatuses> count_status(std::span<const RowStatus> rows) noexcept;

/// For each row of a batch, the row whose record it gets: itself, unless it is damaged and its lane
/// has a good row.
std::vector<std::uint32_t> substitution_sources(std::span<const RowStatus> status, std::uint32_t rows_per_lane);

}  // namespace dovetail::detail
