// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/input_cursor.h"

#include <algorithm>
#include <numeric>

namespace dovetail::detail {

InputCursor::InputCursor(const LaneLayout& lane) : lane_(lane) {
  const auto runs = static_cast<std::size_t>(lane.largest_group());
  lengths_.reserve(runs);
  sorted_lengths_.reserve(runs);
  active_.reserve(runs);
}

void InputCursor::restart(std::uint64_t first_run) noexcept {
  first_run_ = first_run;
  group_ = 0;
  group_begin_ = 0;
  lengths_.clear();
}

void InputCursor::open_group(std::uint64_t group) {
  group_ = group;
  group_begin_ = lane_.group_begin(group);
  lane_.run_lengths(group_begin_, lane_.group_begin(group + 1), lengths_);
  sorted_lengths_ = lengths_;
  // Most often all are equal, which is sorted already.
  if (!std::is_sorted(sorted_lengths_.begin(), sorted_lengths_.end())) {
    std::sort(sorted_lengths_.begin(), sorted_lengths_.end());
  }
  active_.resize(lengths_.size());
  std::iota(active_.begin(), active_.end(), std::uint32_t{0});

  ended_runs_ = 0;
  stretch_round_ = 0;
  stretch_input_ = lane_.inputs_before(group);
  group_inputs_end_ = std::accumulate(lengths_.begin(), lengths_.end(), stretch_input_);
  round_ = 0;
  turn_ = 0;
}

void InputCursor::close_group() noexcept {
  ++group_;
  group_begin_ = lane_.group_begin(group_);
  lengths_.clear();
}

std::uint64_t InputCursor::stretch_inputs() const noexcept {
  return (sorted_lengths_[ended_runs_] - stretch_round_) * (sorted_lengths_.size() - ended_runs_);
}

void InputCursor::skip_stretch() noexcept {
  stretch_input_ += stretch_inputs();
  stretch_round_ = sorted_lengths_[ended_runs_];
  const auto first_left = std::upper_bound(sorted_lengths_.begin(), sorted_lengths_.end(), stretch_round_);
  ended_runs_ = static_cast<std::size_t>(first_left - sorted_lengths_.begin());
}

void InputCursor::drop_ended_runs() noexcept {
  std::erase_if(active_, [this](std::uint32_t run) { return lengths_[run] <= stretch_round_; });
}

void InputCursor::seek(std::uint64_t input) {
  if (input == lane_.records()) {
    group_ = lane_.groups();
    group_begin_ = lane_.runs();
    lengths_.clear();
    return;
  }
  if (!group_is_open() || input >= group_inputs_end_) open_group(lane_.group_of(input));
  while (input - stretch_input_ >= stretch_inputs()) skip_stretch();
  if (active_.size() != sorted_lengths_.size() - ended_runs_) drop_ended_runs();
  const std::uint64_t offset = input - stretch_input_;
  round_ = stretch_round_ + offset / active_.size();
  turn_ = static_cast<std::size_t>(offset % active_.size());
}

void InputCursor::take(std::span<Pick> out) {
  while (!out.empty()) {
    if (!group_is_open()) open_group(group_);
    const std::size_t count = std::min(out.size(), active_.size() - turn_);
    const std::uint64_t first = first_run_ + group_begin_;
    for (std::size_t i = 0; i < count; ++i) out[i] = {first + active_[turn_ + i], round_};
    out = out.subspan(count);
    turn_ += count;
    if (turn_ == active_.size()) end_round();
  }
}

void InputCursor::end_round() noexcept {
  turn_ = 0;
  if (++round_ < sorted_lengths_[ended_runs_]) return;
  skip_stretch();
  if (ended_runs_ == sorted_lengths_.size()) {
    close_group();
  } else {
    drop_ended_runs();
  }
}

std::vector<LaneCursor::OpenRun> InputCursor::open_runs() const {
  std::vector<LaneCursor::OpenRun> open;
  if (!group_is_open()) return open;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const std::uint64_t next_record = round_ + (i < turn_ ? 1 : 0);
    const bool opened = next_record > 0;
    if (opened && next_record < lengths_[active_[i]])
      open.push_back({first_run_ + group_begin_ + active_[i], next_record});
  }
  return open;
}

std::uint64_t InputCursor::next_run() const noexcept {
  if (!group_is_open()) return first_run_ + group_begin_;
  if (round_ == 0) return first_run_ + group_begin_ + turn_;
  return first_run_ + lane_.group_begin(group_ + 1);
}

}  // namespace dovetail::detail
