// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dovetail/plan.h>

#include "reader/plan/mix_table.h"

namespace dovetail::detail {

/// The first word of every hash that concerns mixes.
inline constexpr std::uint64_t kMixTag = 0x6D6978;  // "mix"

/// The weights of a mix from some step on.
struct MixEntry {
  std::uint64_t from_step = 0;
  MixTable table;
};

/// The checked schedule of a mix, ascending by step.
using MixEntries = std::vector<MixEntry>;

/// Checks weights and stop rule. Errors: `invalid_option`, which names the entry and the allowed
/// values.
Result<std::shared_ptr<const MixEntries>> make_entries(const Mix& mix, std::size_t sources);

/// Maps each row of a lane to its source, through all changes of weights. The map is the same for
/// all lanes.
///
/// Threads: const calls may run concurrently.
class MixSchedule {
 public:
  /// `from_step` of each entry counts steps of `rows_per_lane` rows.
  MixSchedule(std::shared_ptr<const MixEntries> entries, std::uint64_t rows_per_lane);

  /// The number of rows in [0, `rows`) that come from the source. Cost: two binary searches.
  std::uint64_t count(std::uint32_t source, std::uint64_t rows) const noexcept;
  /// Fills `out` with the sources of the rows from `row` on.
  void sources(std::uint64_t row, std::span<std::uint32_t> out) const noexcept;
  /// Whether the source has any rows, which means a weight above 0 in some entry.
  bool used(std::uint32_t source) const noexcept;

  /// The number of rows of a lane, by the stop rule of `mix`. `lengths` are the lane's records of
  /// each source; those of used sources are above 0.
  /// Errors: `invalid_option` if `MixStop::all` waits for a source that never ends, or if the lane
  ///         has 2^55 rows or more.
  Result<std::uint64_t> rows(const Mix& mix, std::span<const std::uint64_t> lengths) const;

 private:
  std::size_t entry_of(std::uint64_t row) const noexcept;
  bool none_passed(std::uint64_t rows, std::span<const std::uint64_t> lengths) const noexcept;
  bool all_passed(std::uint64_t rows, std::span<const std::uint64_t> lengths) const noexcept;

  std::shared_ptr<const MixEntries> entries_;
  std::uint64_t rows_per_lane_;
  std::vector<std::uint64_t> first_row_;                   // of each entry
  std::vector<std::vector<std::uint64_t>> counts_before_;  // [entry][source]: rows before the entry
};

}  // namespace dovetail::detail
