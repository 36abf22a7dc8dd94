// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reader/delivery/step.h"

namespace dovetail::detail {

/// Asks the caches for records some rows before they are copied: the open blocks are more than the caches of one core
/// hold, and the order jumps among them. Past the end of the step it goes on with the next one.
class RecordPrefetch {
 public:
  RecordPrefetch(const Step& step, const Unit& unit) : rows_(step.rows.data()), end_(unit.end_row) {
    const PlannedRow& first = rows_[unit.first_row];
    const bool large = unit.first_row < end_ && first.block != nullptr && !first.block->damaged() &&
                       first.block->records[first.record].size() > kSmallBytes;
    distance_ = large ? kLargeDistance : kSmallDistance;
    lines_ = large ? kLargeLines : 1;
    if (step.following != nullptr && unit.end_row == step.row_count) {
      following_ = step.following->rows.data();
      following_rows_ = step.following->units.front().end_row;
    }
    if (step.asked_for && unit.first_row == 0) return;
    for (std::uint32_t r = unit.first_row; r < std::min(end_, unit.first_row + distance_); ++r) ask_for(rows_[r]);
  }

  /// Row `r` is about to be copied.
  [[gnu::always_inline]] void before(std::uint32_t r) const noexcept {
    const std::uint32_t at = r + distance_;
    if (at < end_) {
      ask_for(rows_[at]);
    } else if (at - end_ < following_rows_) {
      ask_for(following_[at - end_]);
    }
  }

 private:
  // Of small records many have to be on their way at a time; of large ones the processor follows later lines itself.
  static constexpr std::size_t kSmallBytes = 256;
  static constexpr std::uint32_t kSmallDistance = 32;
  static constexpr std::uint32_t kLargeDistance = 2;
  static constexpr std::uint32_t kLargeLines = 16;
  static constexpr std::size_t kLineBytes = 64;

  // Inlined at any cost: gcc takes a function that only prefetches for one without effect, and leaves its calls out.
  [[gnu::always_inline]] void ask_for(const PlannedRow& row) const noexcept {
    if (row.block == nullptr || row.block->damaged()) return;
    const std::byte* const begin = row.block->records.begin_of(row.record);
    for (std::uint32_t line = 0; line < lines_; ++line) __builtin_prefetch(begin + line * kLineBytes);
  }

  const PlannedRow* rows_;
  std::uint32_t end_;
  std::uint32_t distance_ = 0;
  std::uint32_t lines_ = 0;
  const PlannedRow* following_ = nullptr;
  std::uint32_t following_rows_ = 0;
};

}  // namespace dovetail::detail
