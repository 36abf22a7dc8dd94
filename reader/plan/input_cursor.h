// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/pass_layout.h"

namespace dovetail::detail {

/// A run that was opened before a cursor's place and is not used up.
struct OpenRun {
  std::uint64_t run = 0;
  std::uint64_t next_record = 0;  ///< Records of the run from here on have not entered the pool.
};

/// Walks the inputs of a lane's pool: the records of each group of runs, one from every open run in turn.
///
/// A group is a table, rounds by runs, with holes below the ends of its runs. Between two such ends the rounds are all
/// alike: a *section*, which is counted and not walked, so that seeking needs only the lengths of the group's runs.
///
/// Ownership: borrows the layout.
/// Threads:   none.
/// Cost:      memory for the largest group, allocated at construction.
class InputCursor {
 public:
  /// At input 0; picks number runs from `first_run`.
  InputCursor(const PassLayout& lane, std::uint64_t first_run);

  /// Moves to `input`: not before the cursor's place, at most the lane's records. Cost: opens the group that holds it.
  void seek(std::uint64_t input);
  /// Fills `out` with the next inputs. Needs as many left in the lane.
  void take(std::span<Pick> out);

  /// Runs opened and not used up.
  std::vector<OpenRun> open_runs() const;
  /// The first run that is not opened.
  std::uint64_t next_run() const noexcept;

 private:
  void open_group();
  void close_group() noexcept;
  bool group_is_open() const noexcept { return !lengths_.empty(); }

  /// Both fill the front of `out`, with one input at least, and return how many.
  std::size_t take_turns(std::span<Pick> out) noexcept;
  std::size_t take_of_one_run(std::span<Pick> out) noexcept;
  void end_rounds(std::uint64_t count) noexcept;

  /// The round before which the section ends.
  std::uint64_t section_end() const noexcept { return sorted_lengths_[ended_runs_]; }
  std::uint64_t section_inputs() const noexcept;
  void skip_section() noexcept;
  void drop_ended_runs() noexcept;

  const PassLayout& lane_;
  std::uint64_t first_run_;

  std::uint64_t group_ = 0;                    // the open one, or the one to open next
  std::uint64_t group_begin_ = 0;              // its first run
  std::uint64_t group_end_ = 0;                // and past its last one, while it is open
  std::uint64_t group_inputs_end_ = 0;         // past its last input while it is open, else before its first one
  std::vector<std::uint64_t> lengths_;         // of the runs of the open group
  std::vector<std::uint64_t> sorted_lengths_;  // the same, ascending

  std::size_t ended_runs_ = 0;  // before the section
  std::uint64_t section_round_ = 0;
  std::uint64_t section_input_ = 0;
  std::vector<std::uint32_t> active_;  // the runs of the section, counted from the group's first

  std::uint64_t round_ = 0;
  std::size_t turn_ = 0;  // in `active_`
};

}  // namespace dovetail::detail
