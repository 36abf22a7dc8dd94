// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <dovetail/batch.h>
#include <dovetail/order.h>

namespace dovetail::detail {

/// Where the parts of a slab are.
struct SlabParts {
  SlabParts() = default;
  SlabParts(std::span<std::byte> bytes, std::uint32_t rows) noexcept;

  std::int64_t* offsets = nullptr;
  std::uint64_t* ids = nullptr;
  RowStatus* status = nullptr;
  std::byte* values = nullptr;
  std::uint64_t capacity = 0;  ///< Room for values, in bytes.
};

/// What a row becomes whose record is damaged. Needs: a record is planned there.
constexpr RowStatus damaged_empty(RowStatus status) noexcept {
  return is_repetition(status) ? RowStatus::repeated_damaged_empty : RowStatus::damaged_empty;
}

/// What it becomes once a neighbour stands in.
constexpr RowStatus substituted(RowStatus status) noexcept {
  return is_repetition(status) ? RowStatus::repeated_substituted : RowStatus::substituted;
}

/// Whether nothing stands in for its damaged record.
constexpr bool is_damaged_empty(RowStatus status) noexcept {
  return is_damaged(status) && status == damaged_empty(status);
}

/// How many of the rows have each status. What is none, as a trainer may have written into a batch that it gets again, is
/// counted as `empty`.
std::array<std::uint32_t, kRowStatuses> count_status(std::span<const RowStatus> rows) noexcept;

}  // namespace dovetail::detail
