// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/input_cursor.h"

#include <algorithm>
#include <numeric>

namespace dovetail::detail {

InputCursor::InputCursor(const PassLayout& lane, std::uint64_t first_run) : lane_(lane), first_run_(first_run) {
  const auto runs = static_cast<std::size_t>(lane.largest_group());
  lengths_.reserve(runs);
  sorted_lengths_.reserve(runs);
  active_.reserve(runs);
}

void InputCursor::open_group() {
  group_end_ = lane_.group_begin(group_ + 1);
  lane_.run_lengths(group_begin_, group_end_, lengths_);
  sorted_lengths_ = lengths_;
  // Most often all are equal, which is sorted already.
  if (!std::is_sorted(sorted_lengths_.begin(), sorted_lengths_.end())) {
    std::sort(sorted_lengths_.begin(), sorted_lengths_.end());
  }
  active_.resize(lengths_.size());
  std::iota(active_.begin(), active_.end(), std::uint32_t{0});

  ended_runs_ = 0;
  section_round_ = 0;
  section_input_ = group_inputs_end_;
  group_inputs_end_ = std::accumulate(lengths_.begin(), lengths_.end(), section_input_);
  round_ = 0;
  turn_ = 0;
}

void InputCursor::close_group() noexcept {
  ++group_;
  group_begin_ = group_end_;
  lengths_.clear();
}

std::uint64_t InputCursor::section_inputs() const noexcept {
  return (section_end() - section_round_) * (sorted_lengths_.size() - ended_runs_);
}

void InputCursor::skip_section() noexcept {
  section_input_ += section_inputs();
  section_round_ = section_end();
  const auto first_left = std::upper_bound(sorted_lengths_.begin(), sorted_lengths_.end(), section_round_);
  ended_runs_ = static_cast<std::size_t>(first_left - sorted_lengths_.begin());
}

void InputCursor::drop_ended_runs() noexcept {
  std::erase_if(active_, [this](std::uint32_t run) { return lengths_[run] <= section_round_; });
}

void InputCursor::seek(std::uint64_t input) {
  if (input == lane_.records()) {
    group_ = lane_.groups();
    group_begin_ = lane_.runs();
    group_inputs_end_ = input;
    lengths_.clear();
    return;
  }
  if (!group_is_open() || input >= group_inputs_end_) {
    group_ = lane_.group_of(input);
    group_begin_ = lane_.group_begin(group_);
    group_inputs_end_ = lane_.inputs_before(group_);
    open_group();
  }
  while (input - section_input_ >= section_inputs()) skip_section();
  if (active_.size() != sorted_lengths_.size() - ended_runs_) drop_ended_runs();
  const std::uint64_t offset = input - section_input_;
  round_ = section_round_ + offset / active_.size();
  turn_ = static_cast<std::size_t>(offset % active_.size());
}

void InputCursor::take(std::span<Pick> out) {
  while (!out.empty()) {
    if (!group_is_open()) open_group();
    out = out.subspan(active_.size() == 1 ? take_of_one_run(out) : take_turns(out));
  }
}

std::size_t InputCursor::take_turns(std::span<Pick> out) noexcept {
  const std::size_t count = std::min(out.size(), active_.size() - turn_);
  const std::uint64_t first = first_run_ + group_begin_;
  for (std::size_t i = 0; i < count; ++i) out[i] = {first + active_[turn_ + i], round_};
  turn_ += count;
  if (turn_ == active_.size()) {
    turn_ = 0;
    end_rounds(1);
  }
  return count;
}

std::size_t InputCursor::take_of_one_run(std::span<Pick> out) noexcept {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), section_end() - round_));
  const std::uint64_t run = first_run_ + group_begin_ + active_.front();
  for (std::size_t i = 0; i < count; ++i) out[i] = {run, round_ + i};
  end_rounds(count);
  return count;
}

void InputCursor::end_rounds(std::uint64_t count) noexcept {
  round_ += count;
  if (round_ < section_end()) return;
  skip_section();
  if (ended_runs_ == sorted_lengths_.size()) {
    close_group();
  } else {
    drop_ended_runs();
  }
}

std::vector<OpenRun> InputCursor::open_runs() const {
  std::vector<OpenRun> open;
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
  return first_run_ + group_end_;
}

}  // namespace dovetail::detail
