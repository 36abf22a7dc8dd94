// SPDX-License-Identifier: Apache-2.0
// Exact evaluation: puts results gathered from all ranks back in dataset order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/order.h>

namespace dovetail {

/// Maps each record to the gathered row that holds its result. If a result depends only on its
/// record, a metric reduced in this order always has the same bits: on any number of ranks, and in
/// a plain loop over the dataset.
///
/// It takes the rows of one pass in any order: those of every step of every reader. Of ranks that
/// `replicate` each other, take one. A record's first delivery counts, else a repeated row, which
/// has the same bytes, else a damaged one. Empty rows never count. The passes of a mix are not
/// distinguished: a record that comes twice is an error there.
///
/// Ownership: a value; keeps nothing of what was gathered.
/// Threads:   const calls may run concurrently.
class DOVETAIL_EXPORT GatheredRows {
 public:
  /// Needs:  `ids[i]` and `status[i]` as `Batch` gives them for the row.
  /// Errors: `invalid_option` naming the first missing record, or the wrong row: a second first
  ///         delivery of a record, an id that is not below `records`, an empty row with an id, an
  ///         invalid status.
  /// Cost:   linear in rows and records; 8 bytes per record, no hashing, no sorting.
  static Result<GatheredRows> place(std::uint64_t records, std::span<const std::uint64_t> ids,
                                    std::span<const RowStatus> status);

  /// The row of each record, by id.
  std::span<const std::uint64_t> rows() const noexcept { return rows_; }
  /// Ids, ascending, of records that are damaged in every row of theirs. Values computed from such
  /// rows are not results of the record. A metric must leave them out and say so.
  std::span<const std::uint64_t> damaged() const noexcept { return damaged_; }
  /// Number of rows given to `place`, with any status.
  std::uint64_t gathered() const noexcept { return gathered_; }

  /// Puts values in dataset order: `width` consecutive values per gathered row become those of
  /// record 0, record 1, ... Padding and repeats are removed. Call it for each kind of result.
  /// Errors: `invalid_option` unless there are `width` values for every gathered row.
  template <std::ranges::random_access_range Values>
  auto arrange(const Values& values, std::size_t width = 1) const
      -> Result<std::vector<std::ranges::range_value_t<Values>>> {
    if (Result<void> fits = check_values(std::ranges::size(values), width); !fits.has_value()) return fits.error();
    std::vector<std::ranges::range_value_t<Values>> arranged;
    arranged.reserve(rows_.size() * width);
    using Distance = std::ranges::range_difference_t<const Values>;
    for (const std::uint64_t row : rows_) {
      const auto first = std::ranges::begin(values) + static_cast<Distance>(row * width);
      arranged.insert(arranged.end(), first, first + static_cast<Distance>(width));
    }
    return arranged;
  }

 private:
  GatheredRows() = default;
  Result<void> check_values(std::size_t values, std::size_t width) const;

  std::vector<std::uint64_t> rows_;
  std::vector<std::uint64_t> damaged_;
  std::uint64_t gathered_ = 0;
};

}  // namespace dovetail
