// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/input_walk.h"

namespace dovetail::detail {

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
