// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dovetail/plan.h>

#include "reader/plan/mix_table.h"

namespace dovetail::detail {

/// Opens the hashes that concern mixes.
inline constexpr std::uint64_t kMixTag = 0x6D6978;  // "mix"

/// The weights of a mix from some step on.
struct MixEntry {
  std::uint64_t from_step = 0;
  MixTable table;
};

/// The checked schedule of a mix.
using MixEntries = std::vector<MixEntry>;

/// Checks weights and stop rule. Errors: `invalid_option` naming the entry and what is allowed.
Result<std::shared_ptr<const MixEntries>> make_entries(const Mix& mix, std::size_t sources);

/// Which source each row of a lane comes from, through all changes of weights. All lanes have the same.
///
/// Threads: const calls may run concurrently.
class MixSchedule {
 public:
  /// Steps of the entries are counted in steps of `rows_per_lane` rows.
  MixSchedule(std::shared_ptr<const MixEntries> entries, std::uint64_t rows_per_lane);

  std::uint32_t source_at(std::uint64_t row) const noexcept;
  /// Rows below `rows` that are the source's. Cost: two binary searches.
  std::uint64_t count(std::uint32_t source, std::uint64_t rows) const noexcept;
  /// Fills `out` with the sources of the rows from `row` on.
  void sources(std::uint64_t row, std::span<std::uint32_t> out) const noexcept;
  /// Whether a source has rows at all.
  bool used(std::uint32_t source) const noexcept;

  /// Rows of a lane whose parts of the sources have these lengths, the ones of used sources above 0.
  /// Errors: `invalid_option` for `MixStop::all` and a source that never ends, or an epoch of 2^55 rows and more.
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
