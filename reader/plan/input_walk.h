// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/run_group.h"
#include "reader/plan/side_by_side.h"

namespace dovetail::detail {

/// A run of the open group, by its position in the pass.
struct OpenRun {
  std::uint64_t run = 0;
  /// Records of the run that have entered the pool, in the order in which the run gives them.
  std::uint64_t given = 0;
};

/// Walks the inputs of a lane's pool, group after group and turn after turn. In each turn every run
/// that does not pause gives one record.
///
/// The template parameter `Runs` defines an *entry*, which stands for a record between its run and
/// its row, and decides when a group may be dealt:
///
///     using Entry = ...;             a value
///     using Bases = SideBySide<..>;  per run, the values from which its entries are computed
///     bool ready(const RunGroup&);   whether the group may be dealt now; called again until true
///     void bind(Bases&, std::size_t slot, std::uint64_t position);
///                                    inserts the run at that position of the pass
///     void give(const Bases&, std::size_t slot, std::size_t some, const std::uint32_t* at,
///               Entry* out);         for i below `some`: out[i] = record at[i] of run slot + i
///
/// Ownership: borrows layout and runs.
/// Threads:   none.
/// Cost:      memory for the largest group, allocated at construction. Turns of a section are dealt
///            by additions alone.
template <class Runs>
class InputWalk {
 public:
  using Entry = typename Runs::Entry;

  /// Starts at input 0.
  InputWalk(const PassLayout& lane, Runs& runs)
      : lane_(lane),
        runs_(runs),
        group_(lane),
        dealers_(static_cast<std::size_t>(lane.largest_group())),
        bases_(static_cast<std::size_t>(lane.largest_group())) {}

  /// Moves to `input`, which is at most the number of records of the lane.
  void seek(std::uint64_t input);
  /// Fills the front of `out` with the next inputs and returns their number. That is less than
  /// `out.size()` where the group ends, and 0 if the next group is not ready. Needs: the lane has
  /// `out.size()` inputs left.
  std::size_t take(std::span<Entry> out);
  /// Whether the last input taken was the last of its group.
  bool between_groups() const noexcept { return !open_ && !target_; }
  /// Inputs that `take` can give without opening a further group: the rest of the open group, or
  /// all of the next group if that is ready.
  std::uint64_t left_in_group();

  /// The runs of the open group that still have records, ascending.
  std::vector<OpenRun> open_runs() const;
  /// The position of the first run of the first group that is not open yet.
  std::uint64_t next_run() const noexcept { return lane_.group_begin(next_group_); }

 private:
  // The fields of `dealers_`: number in the group, next record, stride and length of each run that
  // gives a record in each turn of the section. Ascending by number.
  static constexpr std::size_t kIndex = 0;
  static constexpr std::size_t kAt = 1;
  static constexpr std::size_t kStep = 2;
  static constexpr std::size_t kSize = 3;
  using Dealers = SideBySide<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  bool open_group();
  void enter_section(std::size_t section, std::uint64_t turn);
  void insert(std::size_t slot, std::uint32_t index, std::uint64_t turn);
  void end_section();
  void give(std::size_t slot, std::size_t some, Entry* out) {
    runs_.give(bases_, slot, some, dealers_.template data<kAt>() + slot, out);
    advance(slot, some);
  }
  void advance(std::size_t slot, std::size_t some) noexcept {
    advance_strides(some, dealers_.template data<kAt>() + slot, dealers_.template data<kStep>() + slot,
                    dealers_.template data<kSize>() + slot);
  }

  const PassLayout& lane_;
  Runs& runs_;
  RunGroup group_;
  std::uint64_t next_group_ = 0;         // the group to open when the open one ends
  std::optional<std::uint64_t> target_;  // a sought input whose group is not open yet
  bool open_ = false;
  std::size_t section_ = 0;
  std::uint64_t turn_ = 0;
  std::size_t slot_ = 0;  // in `dealers_`
  Dealers dealers_;
  typename Runs::Bases bases_;
};

template <class Runs>
void InputWalk<Runs>::seek(std::uint64_t input) {
  open_ = false;
  target_.reset();
  if (input == lane_.records()) {
    next_group_ = lane_.groups();
    return;
  }
  target_ = input;
  next_group_ = lane_.group_of(input);
  open_group();
}

template <class Runs>
bool InputWalk<Runs>::open_group() {
  if (group_.runs() == 0 || group_.number() != next_group_) group_.open(next_group_);
  if (!runs_.ready(group_)) return false;
  open_ = true;
  ++next_group_;
  if (!target_) {
    enter_section(0, 0);
    return true;
  }
  const std::size_t section = group_.section_of(*target_);
  const RunGroup::Section& found = group_.section(section);
  const std::uint64_t offset = *target_ - found.first_input;
  enter_section(section, found.first_turn + offset / found.runs);
  slot_ = static_cast<std::size_t>(offset % found.runs);
  advance(0, slot_);  // the runs before `slot_` have already given their record of this turn
  target_.reset();
  return true;
}

template <class Runs>
void InputWalk<Runs>::insert(std::size_t slot, std::uint32_t index, std::uint64_t turn) {
  const Stride records = group_.deal(index);
  const std::uint64_t given = group_.given_before(index, turn);
  dealers_.insert(slot, index, static_cast<std::uint32_t>(given == 0 ? records.start : records.at(given)),
                  static_cast<std::uint32_t>(records.step), static_cast<std::uint32_t>(records.size));
  runs_.bind(bases_, slot, group_.first_run() + index);
}

template <class Runs>
void InputWalk<Runs>::enter_section(std::size_t section, std::uint64_t turn) {
  section_ = section;
  turn_ = turn;
  slot_ = 0;
  dealers_.clear();
  bases_.clear();
  for (std::uint32_t index = 0; index < group_.runs(); ++index) {
    if (group_.turns() == 1) {  // every run is one record, as images are: no strides to draw
      dealers_.append(index, 0, 1, 1);
      runs_.bind(bases_, index, group_.first_run() + index);
    } else if (group_.gives(index, turn)) {
      insert(dealers_.size(), index, turn);
    }
  }
}

template <class Runs>
void InputWalk<Runs>::end_section() {
  if (section_ + 1 == group_.sections()) {
    open_ = false;
    return;
  }
  ++section_;
  for (const RunGroup::Event& event : group_.events(section_)) {
    const std::uint32_t* const begin = dealers_.template data<kIndex>();
    const auto slot = static_cast<std::size_t>(std::lower_bound(begin, begin + dealers_.size(), event.run) - begin);
    if (event.ends_pause) {
      insert(slot, event.run, turn_);
    } else {
      dealers_.erase(slot);
      bases_.erase(slot);
    }
  }
}

template <class Runs>
std::size_t InputWalk<Runs>::take(std::span<Entry> out) {
  if (out.empty() || (!open_ && !open_group())) return 0;
  std::size_t taken = 0;
  while (taken < out.size() && open_) {
    const std::size_t runs = dealers_.size();
    const std::uint64_t end = group_.section_end(section_);
    const std::size_t left = out.size() - taken;
    if (slot_ == 0 && runs > 0 && left >= runs) {
      for (std::uint64_t turns = std::min<std::uint64_t>(end - turn_, left / runs); turns > 0; --turns, ++turn_) {
        give(0, runs, out.data() + taken);
        taken += runs;
      }
    } else {
      const std::size_t some = std::min(left, runs - slot_);
      give(slot_, some, out.data() + taken);
      taken += some;
      slot_ += some;
      if (slot_ < runs) continue;
      slot_ = 0;
      ++turn_;
    }
    if (turn_ == end) end_section();
  }
  return taken;
}

template <class Runs>
std::uint64_t InputWalk<Runs>::left_in_group() {
  if (!open_ && (next_group_ == lane_.groups() || !open_group())) return 0;
  const RunGroup::Section& section = group_.section(section_);
  const std::uint64_t taken = section.first_input + (turn_ - section.first_turn) * section.runs + slot_;
  return group_.end_input() - taken;
}

template <class Runs>
std::vector<OpenRun> InputWalk<Runs>::open_runs() const {
  std::vector<OpenRun> open;
  if (!open_) return open;
  const std::uint32_t before = slot_ == 0 ? 0 : dealers_.template data<kIndex>()[slot_ - 1] + 1;
  for (std::uint32_t index = 0; index < group_.runs(); ++index) {
    std::uint64_t given = group_.given_before(index, turn_);
    if (index < before && group_.gives(index, turn_)) ++given;
    if (given < group_.length(index)) open.push_back({group_.first_run() + index, given});
  }
  return open;
}

}  // namespace dovetail::detail
