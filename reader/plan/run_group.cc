// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/run_group.h"

#include <algorithm>

namespace dovetail::detail {

RunGroup::RunGroup(const PassLayout& lane) : lane_(lane) {
  const auto runs = static_cast<std::size_t>(lane.largest_group());
  members_.reserve(runs);
  events_.reserve(2 * runs);
  sections_.reserve(2 * runs + 1);
}

void RunGroup::open(std::uint64_t group) {
  number_ = group;
  first_run_ = lane_.group_begin(group);
  begin_input_ = lane_.inputs_before(group);
  end_input_ = begin_input_;
  turns_ = 0;
  const std::uint64_t end = lane_.group_begin(group + 1);
  members_.resize(static_cast<std::size_t>(end - first_run_));
  Member* member = members_.data();
  lane_.for_each_length(first_run_, end, [&](std::uint64_t length) {
    *member++ = {length, 0};
    turns_ = std::max(turns_, length);
    end_input_ += length;
  });

  Section section{.first_turn = 0, .first_input = begin_input_, .runs = members_.size()};
  events_.clear();
  const bool pauses = end_input_ - begin_input_ < turns_ * members_.size();
  for (std::uint32_t index = 0; pauses && index < members_.size(); ++index) {
    Member& pausing = members_[index];
    if (pausing.length == turns_) continue;
    pausing.pause = lane_.pause(first_run_ + index, turns_);
    // A pause that passes the last turn continues in the first turns, and ends there.
    const std::uint64_t until = pausing.pause + (turns_ - pausing.length);
    const std::uint64_t resumes = until < turns_ ? until : until - turns_;
    if (!gives(index, 0)) --section.runs;
    if (pausing.pause > 0) events_.push_back({pausing.pause, index, false});
    if (resumes > 0) events_.push_back({resumes, index, true});
  }
  std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.turn < b.turn; });
  sections_.assign(1, section);
  for (const Event& event : events_) {
    if (event.turn != section.first_turn) {
      section.first_input += (event.turn - section.first_turn) * section.runs;
      section.first_turn = event.turn;
      sections_.push_back(section);
    }
    section.runs += event.ends_pause ? 1 : std::uint64_t{0} - 1;
    sections_.back().runs = section.runs;
  }
}

std::span<const RunGroup::Event> RunGroup::events(std::size_t section) const noexcept {
  const auto [begin, end] = std::equal_range(events_.begin(), events_.end(), Event{sections_[section].first_turn},
                                             [](const Event& a, const Event& b) { return a.turn < b.turn; });
  return {begin, end};
}

std::size_t RunGroup::section_of(std::uint64_t input) const noexcept {
  const auto after =
      std::upper_bound(sections_.begin(), sections_.end(), input,
                       [](std::uint64_t at, const Section& section) { return at < section.first_input; });
  return static_cast<std::size_t>(after - sections_.begin()) - 1;
}

bool RunGroup::gives(std::uint32_t index, std::uint64_t turn) const noexcept {
  const Member& member = members_[index];
  const std::uint64_t since = turn >= member.pause ? turn - member.pause : turn + (turns_ - member.pause);
  return since >= turns_ - member.length;
}

std::uint64_t RunGroup::given_before(std::uint32_t index, std::uint64_t turn) const noexcept {
  const Member& member = members_[index];
  const std::uint64_t length = turns_ - member.length;
  // The pause is [pause, pause + length). Turns of it past the last turn come at the beginning of
  // the group instead.
  const std::uint64_t early = member.pause + length > turns_ ? member.pause + length - turns_ : 0;
  std::uint64_t paused = std::min(turn, early);
  if (turn > member.pause) paused += std::min(turn - member.pause, length - early);
  return turn - paused;
}

Pick pick_of_input(const PassLayout& lane, RunGroup& group, std::uint64_t input) {
  const std::uint64_t number = lane.group_of(input);
  if (group.runs() == 0 || group.number() != number) group.open(number);
  const RunGroup::Section& section = group.section(group.section_of(input));
  const std::uint64_t turn = section.first_turn + (input - section.first_input) / section.runs;
  std::uint64_t before = (input - section.first_input) % section.runs;
  std::uint32_t index = 0;
  if (section.runs == group.runs()) {
    index = static_cast<std::uint32_t>(before);
  } else {
    for (; !group.gives(index, turn) || before > 0; ++index) before -= group.gives(index, turn) ? 1 : 0;
  }
  return {group.first_run() + index, group.deal(index).at(group.given_before(index, turn))};
}

}  // namespace dovetail::detail
