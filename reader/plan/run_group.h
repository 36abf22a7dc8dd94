// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reader/plan/pass_layout.h"

namespace dovetail::detail {

/// One group of a pass: which of its runs give a record in which turn. docs/order.md, "Groups and turns".
///
/// A group is a table of turns by runs, with holes where a run pauses. Between the turns in which a pause begins or ends
/// all turns are alike: a *section*, which is counted and not walked.
///
/// Ownership: borrows the layout.
/// Threads:   none.
/// Cost:      memory for the largest group, allocated at construction. Opening a group costs a step for each of its runs,
///            and a draw and a share of a sort for each that pauses.
class RunGroup {
 public:
  explicit RunGroup(const PassLayout& lane);

  void open(std::uint64_t group);
  std::uint64_t number() const noexcept { return number_; }
  /// The first run, as opened, and how many there are.
  std::uint64_t first_run() const noexcept { return first_run_; }
  std::uint32_t runs() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  /// Records of its longest run.
  std::uint64_t turns() const noexcept { return turns_; }
  /// Inputs of the lane: [begin_input, end_input).
  std::uint64_t begin_input() const noexcept { return begin_input_; }
  std::uint64_t end_input() const noexcept { return end_input_; }

  /// Turns that are alike.
  struct Section {
    std::uint64_t first_turn = 0;
    std::uint64_t first_input = 0;  ///< Of the lane.
    std::uint64_t runs = 0;         ///< That give a record in each turn; at least 1.
  };
  /// A pause begins or ends before a turn.
  struct Event {
    std::uint64_t turn = 0;
    std::uint32_t run = 0;  ///< Counted from the group's first.
    bool ends_pause = false;
  };
  std::size_t sections() const noexcept { return sections_.size(); }
  const Section& section(std::size_t index) const noexcept { return sections_[index]; }
  /// The turn past a section.
  std::uint64_t section_end(std::size_t index) const noexcept {
    return index + 1 < sections_.size() ? sections_[index + 1].first_turn : turns_;
  }
  /// With what a section begins that is not the first.
  std::span<const Event> events(std::size_t section) const noexcept;
  /// The one that holds an input of the group.
  std::size_t section_of(std::uint64_t input) const noexcept;

  /// Records of a run, which is counted from the group's first,
  std::uint64_t length(std::uint32_t index) const noexcept { return members_[index].length; }
  /// and the order in which it gives them.
  Stride deal(std::uint32_t index) const noexcept { return lane_.deal(first_run_ + index, length(index)); }
  /// Whether it gives a record in a turn,
  bool gives(std::uint32_t index, std::uint64_t turn) const noexcept;
  /// and how many before that turn.
  std::uint64_t given_before(std::uint32_t index, std::uint64_t turn) const noexcept;

 private:
  struct Member {
    std::uint64_t length = 0;
    std::uint64_t pause = 0;  // the first turn of the pause, below the turns
  };
  const PassLayout& lane_;
  std::uint64_t number_ = 0;
  std::uint64_t first_run_ = 0;
  std::uint64_t begin_input_ = 0;
  std::uint64_t end_input_ = 0;
  std::uint64_t turns_ = 0;
  std::vector<Member> members_;
  std::vector<Section> sections_;
  std::vector<Event> events_;  // by their turns
};

/// The place of an input: a run by its position in the pass, and a record of it. Cost: opens the group.
Pick pick_of_input(const PassLayout& lane, RunGroup& group, std::uint64_t input);

}  // namespace dovetail::detail
