// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/lane_layout.h"

namespace dovetail::detail {

/// Walks the inputs of a lane's pool: the records of each group of runs, one from every open run in turn.
///
/// A group is a table, rounds by runs, with holes below the ends of its runs. Between two such ends the rounds are all
/// alike: a *stretch*, which is counted and not walked, so that seeking needs only the lengths of the group's runs.
///
/// Ownership: borrows the layout.
/// Threads:   none.
/// Cost:      memory for the largest group, allocated at construction.
class InputCursor {
 public:
  explicit InputCursor(const LaneLayout& lane);

  /// Back to input 0; from now on picks number runs from `first_run`.
  void restart(std::uint64_t first_run) noexcept;
  /// Moves to `input`: not before the cursor's place, at most the lane's records. Cost: opens the group that holds it.
  void seek(std::uint64_t input);
  /// Fills `out` with the next inputs. Needs as many left in the lane.
  void take(std::span<Pick> out);

  /// Runs opened and not used up.
  std::vector<LaneCursor::OpenRun> open_runs() const;
  /// The first run that is not opened.
  std::uint64_t next_run() const noexcept;

 private:
  void open_group(std::uint64_t group);
  void close_group() noexcept;
  bool group_is_open() const noexcept { return !lengths_.empty(); }
  void end_round() noexcept;

  std::uint64_t stretch_inputs() const noexcept;
  void skip_stretch() noexcept;
  void drop_ended_runs() noexcept;

  const LaneLayout& lane_;
  std::uint64_t first_run_ = 0;

  std::uint64_t group_ = 0;  // the open one, or the one to open next
  std::uint64_t group_begin_ = 0;
  std::uint64_t group_inputs_end_ = 0;
  std::vector<std::uint64_t> lengths_;         // of the runs of the open group
  std::vector<std::uint64_t> sorted_lengths_;  // the same, ascending

  std::size_t ended_runs_ = 0;  // before the stretch
  std::uint64_t stretch_round_ = 0;
  std::uint64_t stretch_input_ = 0;
  std::vector<std::uint32_t> active_;  // the runs of the stretch, counted from the group's first

  std::uint64_t round_ = 0;
  std::size_t turn_ = 0;  // in `active_`
};

}  // namespace dovetail::detail
