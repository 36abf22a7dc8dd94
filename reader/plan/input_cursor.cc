// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/input_cursor.h"

#include <algorithm>
#include <array>

namespace dovetail::detail {

void InputCursor::Hands::reserve(std::size_t runs) {
  run.reserve(runs);
  begin.reserve(runs);
  at.reserve(runs);
  step.reserve(runs);
  size.reserve(runs);
}

void InputCursor::Hands::clear() noexcept {
  run.clear();
  begin.clear();
  at.clear();
  step.clear();
  size.clear();
}

void InputCursor::Hands::insert(std::size_t slot, std::uint64_t number) {
  const auto place = static_cast<std::ptrdiff_t>(slot);
  run.insert(run.begin() + place, number);
  begin.insert(begin.begin() + place, 0);
  at.insert(at.begin() + place, 0);
  step.insert(step.begin() + place, 0);
  size.insert(size.begin() + place, 1);
}

void InputCursor::Hands::erase(std::size_t slot) {
  const auto place = static_cast<std::ptrdiff_t>(slot);
  run.erase(run.begin() + place);
  begin.erase(begin.begin() + place);
  at.erase(at.begin() + place);
  step.erase(step.begin() + place);
  size.erase(size.begin() + place);
}

void InputCursor::Hands::give(std::size_t slot, std::size_t count, Pick* __restrict out) noexcept {
  const std::uint64_t* const __restrict runs = run.data() + slot;
  const std::uint64_t* const __restrict begins = begin.data() + slot;
  std::uint32_t* const __restrict ats = at.data() + slot;
  const std::uint32_t* const __restrict steps = step.data() + slot;
  const std::uint32_t* const __restrict sizes = size.data() + slot;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {runs[i], begins[i] + ats[i]};
    // Modulo the size: where nothing is to be taken off, the difference wraps and is the larger one.
    const std::uint32_t moved = ats[i] + steps[i];
    ats[i] = std::min(moved, moved - sizes[i]);
  }
}

InputCursor::InputCursor(const PassLayout& lane, std::uint64_t first_run)
    : lane_(lane), first_run_(first_run), group_(lane) {
  dealers_.reserve(static_cast<std::size_t>(lane.largest_group()));
  hands_.reserve(static_cast<std::size_t>(lane.largest_group()));
}

void InputCursor::open(std::uint64_t group) {
  if (group_.runs() == 0 || group_.number() != group) group_.open(group);
  next_group_ = group + 1;
  open_ = true;
}

void InputCursor::add_dealer(std::size_t slot, std::uint32_t index, std::uint64_t turn) {
  dealers_.insert(dealers_.begin() + static_cast<std::ptrdiff_t>(slot), Dealer{.index = index, .chunk_end = turn});
  hands_.insert(slot, first_run_ + group_.first_run() + index);
  const RunDeal::Place place = group_.deal(index).place_of(group_.given_before(index, turn));
  begin_chunk(slot, place.chunk, place.dealt);
}

void InputCursor::begin_chunk(std::size_t slot, const Chunk& chunk, std::uint64_t dealt) noexcept {
  dealers_[slot].chunk_end += chunk.records.size - dealt;
  dealers_[slot].chunk = chunk.number;
  hands_.begin[slot] = chunk.begin;
  hands_.at[slot] = static_cast<std::uint32_t>(chunk.records.at(dealt));
  hands_.step[slot] = static_cast<std::uint32_t>(chunk.records.step);
  hands_.size[slot] = static_cast<std::uint32_t>(chunk.records.size);
}

void InputCursor::enter_section(std::size_t section, std::uint64_t turn) {
  section_ = section;
  turn_ = turn;
  slot_ = 0;
  dealers_.clear();
  hands_.clear();
  for (std::uint32_t index = 0; index < group_.runs(); ++index) {
    if (group_.gives(index, turn)) add_dealer(dealers_.size(), index, turn);
  }
}

void InputCursor::change_section(std::size_t section) {
  section_ = section;
  for (const RunGroup::Event& event : group_.events(section)) {
    const auto at = std::lower_bound(dealers_.begin(), dealers_.end(), event.run,
                                     [](const Dealer& dealer, std::uint32_t run) { return dealer.index < run; });
    const auto slot = static_cast<std::size_t>(at - dealers_.begin());
    if (event.ends_pause) {
      add_dealer(slot, event.run, turn_);
    } else {
      dealers_.erase(at);
      hands_.erase(slot);
    }
  }
}

void InputCursor::begin_turn() {
  if (turn_ == group_.section_end(section_)) {
    if (section_ + 1 == group_.sections()) {
      open_ = false;
      return;
    }
    change_section(section_ + 1);
  }
  event_ = group_.section_end(section_);
  for (std::size_t slot = 0; slot < dealers_.size(); ++slot) {
    const Dealer& dealer = dealers_[slot];
    if (dealer.chunk_end == turn_) begin_chunk(slot, group_.deal(dealer.index).after(dealer.chunk), 0);
    event_ = std::min(event_, dealer.chunk_end);
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
  begin_turn();
  slot_ = static_cast<std::size_t>(offset % found.runs);
  // What comes before in this turn has been given.
  std::array<Pick, 64> given;
  for (std::size_t slot = 0; slot < slot_; slot += given.size()) {
    hands_.give(slot, std::min(given.size(), slot_ - slot), given.data());
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
  return {first_run_ + group_.first_run() + index, group_.deal(index).record(group_.given_before(index, turn))};
}

void InputCursor::take(std::span<Pick> out) {
  while (!out.empty()) {
    if (!open_) {
      open(next_group_);
      enter_section(0, 0);
      begin_turn();
    }
    const std::size_t runs = dealers_.size();
    if (slot_ == 0 && out.size() >= runs) {
      const std::uint64_t turns = std::min<std::uint64_t>(event_ - turn_, out.size() / runs);
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        hands_.give(0, runs, out.data());
        out = out.subspan(runs);
      }
      turn_ += turns;
    } else {
      const std::size_t count = std::min(out.size(), runs - slot_);
      hands_.give(slot_, count, out.data());
      out = out.subspan(count);
      slot_ += count;
      if (slot_ < runs) continue;
      slot_ = 0;
      ++turn_;
    }
    if (turn_ == event_) begin_turn();
  }
}

std::vector<OpenRun> InputCursor::open_runs() const {
  std::vector<OpenRun> open;
  if (!open_) return open;
  const std::uint32_t before = slot_ == 0 ? 0 : dealers_[slot_ - 1].index + 1;
  for (std::uint32_t index = 0; index < group_.runs(); ++index) {
    std::uint64_t given = group_.given_before(index, turn_);
    if (index < before && group_.gives(index, turn_)) ++given;
    if (given < group_.run(index).count) open.push_back({first_run_ + group_.first_run() + index, given});
  }
  return open;
}

std::uint64_t InputCursor::next_run() const noexcept {
  return first_run_ + lane_.group_begin(next_group_);
}

}  // namespace dovetail::detail
