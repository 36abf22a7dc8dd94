// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reader/plan/pass_layout.h"

namespace dovetail::detail {

/// One group of a pass: which of its runs give a record in which turn. docs/order.md, "Groups and
/// turns".
///
/// A group is a table of turns by runs, with holes where a run pauses. A *section* is the turns
/// between two events; an event is a turn at which a pause begins or ends. All turns of a section
/// are alike, so sections are counted and not walked turn by turn.
///
/// Ownership: borrows the layout.
/// Threads:   none.
/// Cost:      memory for the largest group, allocated at construction. Opening a group visits each
///            run, draws once for each run that pauses, and sorts the events.
class RunGroup {
 public:
  explicit RunGroup(const PassLayout& lane);

  void open(std::uint64_t group);
  std::uint64_t number() const noexcept { return number_; }
  /// The first run, by its number as opened, and the number of runs.
  std::uint64_t first_run() const noexcept { return first_run_; }
  std::uint32_t runs() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  /// The records of the longest run of the group.
  std::uint64_t turns() const noexcept { return turns_; }
  /// The end of the inputs of the lane that the group gives.
  std::uint64_t end_input() const noexcept { return end_input_; }

  /// Consecutive turns in which the same runs give a record.
  struct Section {
    std::uint64_t first_turn = 0;
    std::uint64_t first_input = 0;  ///< Counted from the first input of the lane.
    std::uint64_t runs = 0;         ///< Runs that give a record in each turn; at least 1.
  };
  /// A pause of a run begins or ends before `turn`.
  struct Event {
    std::uint64_t turn = 0;
    std::uint32_t run = 0;  ///< Counted from the group's first.
    bool ends_pause = false;
  };
  std::size_t sections() const noexcept { return sections_.size(); }
  const Section& section(std::size_t index) const noexcept { return sections_[index]; }
  /// The turn after the last turn of a section.
  std::uint64_t section_end(std::size_t index) const noexcept {
    return index + 1 < sections_.size() ? sections_[index + 1].first_turn : turns_;
  }
  /// The events at the beginning of `section`, which is not 0.
  std::span<const Event> events(std::size_t section) const noexcept;
  /// The section that holds `input`, which is one of the group.
  std::size_t section_of(std::uint64_t input) const noexcept;

  /// The number of records of run `index` of the group.
  std::uint64_t length(std::uint32_t index) const noexcept { return members_[index].length; }
  /// The order in which that run gives its records.
  Stride deal(std::uint32_t index) const noexcept { return lane_.deal(first_run_ + index, length(index)); }
  /// Whether the run gives a record in `turn`.
  bool gives(std::uint32_t index, std::uint64_t turn) const noexcept;
  /// The number of records that the run gives before `turn`.
  std::uint64_t given_before(std::uint32_t index, std::uint64_t turn) const noexcept;

 private:
  struct Member {
    std::uint64_t length = 0;
    std::uint64_t pause = 0;  // the first turn of the pause, below `turns_`
  };
  const PassLayout& lane_;
  std::uint64_t number_ = 0;
  std::uint64_t first_run_ = 0;
  std::uint64_t begin_input_ = 0;
  std::uint64_t end_input_ = 0;
  std::uint64_t turns_ = 0;
  std::vector<Member> members_;
  std::vector<Section> sections_;
  std::vector<Event> events_;  // ascending by turn
};

/// The pick of an input of the pass. Opens the group that holds the input.
Pick pick_of_input(const PassLayout& lane, RunGroup& group, std::uint64_t input);

}  // namespace dovetail::detail
