// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/stretch.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dovetail {
namespace {

/// Which records of which runs have not left a pass at some output, but for the runs from `next_run` on, all of whose
/// records are still to come.
struct InFlight {
  struct Part {
    std::vector<std::uint64_t> pooled;
    std::uint64_t next_record = 0;  // from here on none has entered the pool; `count` where all have
    std::uint64_t count = 0;
  };
  std::map<std::uint64_t, Part> parts;
  std::uint64_t next_run = 0;
};

InFlight in_flight(const detail::PassOrder& order, std::uint64_t output, std::uint64_t first_run) {
  const detail::PassCursor cursor(order, output, first_run);
  InFlight found;
  found.next_run = cursor.next_run();
  const auto part_of = [&](std::uint64_t run) -> InFlight::Part& {
    const auto [part, is_new] = found.parts.try_emplace(run);
    if (is_new) part->second.count = part->second.next_record = order.run(run - first_run).count;
    return part->second;
  };
  for (const Pick& pick : cursor.pooled()) part_of(pick.run).pooled.push_back(pick.record);
  for (const detail::OpenRun& open : cursor.open_runs()) part_of(open.run).next_record = open.next_record;
  for (auto& [run, part] : found.parts) std::sort(part.pooled.begin(), part.pooled.end());
  return found;
}

}  // namespace

std::uint64_t PartialRun::needed(std::uint64_t first, std::uint64_t last) const noexcept {
  const auto within = [&](const std::vector<std::uint64_t>& records) {
    return static_cast<std::uint64_t>(std::lower_bound(records.begin(), records.end(), last) -
                                      std::lower_bound(records.begin(), records.end(), first));
  };
  const std::uint64_t from = std::max(first, begin);
  const std::uint64_t to = std::min(last, end);
  return within(singles) + (from < to ? to - from : 0) - within(except);
}

Stretch::Stretch(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

RowStatus Stretch::status() const noexcept {
  return content_->status;
}
std::uint64_t Stretch::first_run() const noexcept {
  return content_->first_run;
}
std::uint64_t Stretch::end_run() const noexcept {
  return content_->first_run + content_->order.runs();
}
Run Stretch::run(std::uint64_t number) const {
  return content_->order.run(number - content_->first_run);
}

Stretch::Needs Stretch::needs() const {
  const Content& content = *content_;
  Needs needs;
  needs.whole_begin = content.first_run;
  needs.whole_end = content.first_run + content.order.runs();
  std::map<std::uint64_t, PartialRun> partial;
  if (content.begin != 0) {
    InFlight before = in_flight(content.order, content.begin, content.first_run);
    needs.whole_begin = before.next_run;
    for (auto& [run, part] : before.parts) {
      partial[run] = {run, std::move(part.pooled), part.next_record, part.count, {}};
    }
  }
  if (content.end == content.order.records()) {
    for (auto& [run, part] : partial) needs.partial.push_back(std::move(part));
    return needs;
  }
  InFlight after = in_flight(content.order, content.end, content.first_run);
  // What has not left the pass at the end is not needed.
  for (auto& [run, part] : after.parts) {
    const auto [found, is_new] = partial.try_emplace(run, PartialRun{run, {}, 0, part.count, {}});
    PartialRun& needed = found->second;
    std::vector<std::uint64_t> singles;
    std::set_difference(needed.singles.begin(), needed.singles.end(), part.pooled.begin(), part.pooled.end(),
                        std::back_inserter(singles));
    needed.singles = std::move(singles);
    needed.end = std::max(needed.begin, std::min(needed.end, part.next_record));
    for (const std::uint64_t record : part.pooled) {
      if (record >= needed.begin && record < needed.end) needed.except.push_back(record);
    }
  }
  for (auto& [run, part] : partial) needs.partial.push_back(std::move(part));
  needs.whole_end = after.next_run;
  return needs;
}

}  // namespace dovetail
