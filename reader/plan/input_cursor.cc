// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/input_cursor.h"

#include <algorithm>
#include <array>

namespace dovetail::detail {

void InputCursor::Dealers::append(std::uint32_t of_group, std::uint64_t number, const Stride& records,
                                  std::uint64_t given) noexcept {
  index[count] = of_group;
  run[count] = number;
  at[count] = static_cast<std::uint32_t>(given == 0 ? records.start : records.at(given));
  step[count] = static_cast<std::uint32_t>(records.step);
  size[count] = static_cast<std::uint32_t>(records.size);
  ++count;
}

void InputCursor::Dealers::append_single(std::uint64_t number, std::uint32_t runs) noexcept {
  for (std::uint32_t i = 0; i < runs; ++i) {
    index[i] = i;
    run[i] = number + i;
    at[i] = 0;
    step[i] = size[i] = 1;
  }
  count = runs;
}

void InputCursor::Dealers::move_last(std::size_t slot) noexcept {
  const auto from = static_cast<std::ptrdiff_t>(slot);
  const auto end = static_cast<std::ptrdiff_t>(count);
  const auto turn_by_one = [=](auto& values) {
    std::rotate(values.begin() + from, values.begin() + end - 1, values.begin() + end);
  };
  turn_by_one(index);
  turn_by_one(run);
  turn_by_one(at);
  turn_by_one(step);
  turn_by_one(size);
}

void InputCursor::Dealers::erase(std::size_t slot) noexcept {
  const auto next = static_cast<std::ptrdiff_t>(slot) + 1;
  const auto end = static_cast<std::ptrdiff_t>(count);
  const auto close = [=](auto& values) {
    std::copy(values.begin() + next, values.begin() + end, values.begin() + next - 1);
  };
  close(index);
  close(run);
  close(at);
  close(step);
  close(size);
  --count;
}

void InputCursor::Dealers::give(std::size_t slot, std::size_t some, Pick* __restrict out) noexcept {
  const std::uint64_t* const __restrict runs = run.data() + slot;
  std::uint32_t* const __restrict ats = at.data() + slot;
  const std::uint32_t* const __restrict steps = step.data() + slot;
  const std::uint32_t* const __restrict sizes = size.data() + slot;
  for (std::size_t i = 0; i < some; ++i) {
    out[i] = {runs[i], ats[i]};
    // Modulo the size: where nothing is to be taken off, the difference wraps and is the larger one.
    const std::uint32_t moved = ats[i] + steps[i];
    ats[i] = std::min(moved, moved - sizes[i]);
  }
}

void InputCursor::Dealers::give_turns(std::size_t turns, Pick* __restrict out) noexcept {
  std::uint32_t next = at.front();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    out[turn] = {run.front(), next};
    const std::uint32_t moved = next + step.front();
    next = std::min(moved, moved - size.front());
  }
  at.front() = next;
}

InputCursor::InputCursor(const PassLayout& lane, std::uint64_t first_run)
    : lane_(lane), first_run_(first_run), group_(lane), dealers_(static_cast<std::size_t>(lane.largest_group())) {}

void InputCursor::open(std::uint64_t group) {
  if (group_.runs() == 0 || group_.number() != group) group_.open(group);
  next_group_ = group + 1;
  open_ = true;
}

void InputCursor::append_dealer(std::uint32_t index, std::uint64_t turn) {
  dealers_.append(index, first_run_ + group_.first_run() + index, group_.deal(index), group_.given_before(index, turn));
}

void InputCursor::enter_section(std::size_t section, std::uint64_t turn) {
  section_ = section;
  turn_ = turn;
  slot_ = 0;
  dealers_.count = 0;
  if (group_.turns() == 1) {  // each record a run, as images are: nothing is drawn
    dealers_.append_single(first_run_ + group_.first_run(), group_.runs());
    return;
  }
  for (std::uint32_t index = 0; index < group_.runs(); ++index) {
    if (group_.gives(index, turn)) append_dealer(index, turn);
  }
}

void InputCursor::end_section() {
  if (section_ + 1 == group_.sections()) {
    open_ = false;
    return;
  }
  ++section_;
  for (const RunGroup::Event& event : group_.events(section_)) {
    const auto begin = dealers_.index.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(dealers_.count);
    const auto slot = static_cast<std::size_t>(std::lower_bound(begin, end, event.run) - begin);
    if (event.ends_pause) {
      append_dealer(event.run, turn_);
      dealers_.move_last(slot);
    } else {
      dealers_.erase(slot);
    }
  }
}

void InputCursor::seek(std::uint64_t input) {
  open_ = false;
  if (input == lane_.records()) {
    next_group_ = lane_.groups();
    return;
  }
  open(lane_.group_of(input));
  const std::size_t section = group_.section_of(input);
  const RunGroup::Section& found = group_.section(section);
  const std::uint64_t offset = input - found.first_input;
  enter_section(section, found.first_turn + offset / found.runs);
  slot_ = static_cast<std::size_t>(offset % found.runs);
  // What comes before in this turn has been given.
  std::array<Pick, 64> given;
  for (std::size_t slot = 0; slot < slot_; slot += given.size()) {
    dealers_.give(slot, std::min(given.size(), slot_ - slot), given.data());
  }
}

Pick InputCursor::at(std::uint64_t input) {
  open(lane_.group_of(input));
  open_ = false;
  const RunGroup::Section& section = group_.section(group_.section_of(input));
  const std::uint64_t turn = section.first_turn + (input - section.first_input) / section.runs;
  std::uint64_t before = (input - section.first_input) % section.runs;
  std::uint32_t index = 0;
  if (section.runs == group_.runs()) {
    index = static_cast<std::uint32_t>(before);
  } else {
    for (; !group_.gives(index, turn) || before > 0; ++index) before -= group_.gives(index, turn) ? 1 : 0;
  }
  return {first_run_ + group_.first_run() + index, group_.deal(index).at(group_.given_before(index, turn))};
}

void InputCursor::take(std::span<Pick> out) {
  while (!out.empty()) {
    if (!open_) {
      open(next_group_);
      enter_section(0, 0);
    }
    const std::size_t runs = dealers_.count;
    const std::uint64_t end = group_.section_end(section_);
    if (slot_ == 0 && runs > 0 && out.size() >= runs) {
      const std::uint64_t turns = std::min<std::uint64_t>(end - turn_, out.size() / runs);
      if (runs == 1) {
        dealers_.give_turns(static_cast<std::size_t>(turns), out.data());
        out = out.subspan(static_cast<std::size_t>(turns));
      } else {
        for (std::uint64_t turn = 0; turn < turns; ++turn) {
          dealers_.give(0, runs, out.data());
          out = out.subspan(runs);
        }
      }
      turn_ += turns;
    } else {
      const std::size_t count = std::min(out.size(), runs - slot_);
      dealers_.give(slot_, count, out.data());
      out = out.subspan(count);
      slot_ += count;
      if (slot_ < runs) continue;
      slot_ = 0;
      ++turn_;
    }
    if (turn_ == end) end_section();
  }
}

std::vector<OpenRun> InputCursor::open_runs() const {
  std::vector<OpenRun> open;
  if (!open_) return open;
  const std::uint32_t before = slot_ == 0 ? 0 : dealers_.index[slot_ - 1] + 1;
  for (std::uint32_t index = 0; index < group_.runs(); ++index) {
    std::uint64_t given = group_.given_before(index, turn_);
    if (index < before && group_.gives(index, turn_)) ++given;
    if (given < group_.length(index)) open.push_back({first_run_ + group_.first_run() + index, given});
  }
  return open;
}

std::uint64_t InputCursor::next_run() const noexcept {
  return first_run_ + lane_.group_begin(next_group_);
}

}  // namespace dovetail::detail
