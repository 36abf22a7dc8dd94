// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/stretch.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "reader/plan/pass_walk.h"

namespace dovetail {
namespace {

/// Which records of which runs have not left a pass at some output, but for the runs from `next_run` on, all of whose
/// records are still to come.
struct InFlight {
  struct Part {
    std::vector<std::uint64_t> pooled;  // ascending
    std::uint64_t given = 0;            // have entered the pool
  };
  std::map<std::uint64_t, Part> parts;
  std::uint64_t next_run = 0;
};

InFlight in_flight(const detail::PassOrder& order, std::uint64_t output, std::uint64_t first_run) {
  const detail::PickWalk walk(order, output, detail::PickRuns(first_run));
  InFlight found;
  found.next_run = first_run + walk.next_run();
  const auto part_of = [&](std::uint64_t run) -> InFlight::Part& {
    const auto [part, is_new] = found.parts.try_emplace(run);
    if (is_new) part->second.given = order.run(run - first_run).count;
    return part->second;
  };
  for (const Pick& pick : walk.pooled()) part_of(pick.run).pooled.push_back(pick.record);
  for (const detail::OpenRun& open : walk.open_runs()) part_of(first_run + open.run).given = open.given;
  for (auto& [run, part] : found.parts) std::sort(part.pooled.begin(), part.pooled.end());
  return found;
}

std::vector<std::uint64_t> without(const std::vector<std::uint64_t>& records,
                                   const std::vector<std::uint64_t>& others) {
  std::vector<std::uint64_t> left;
  std::set_difference(records.begin(), records.end(), others.begin(), others.end(), std::back_inserter(left));
  return left;
}

}  // namespace

std::uint64_t PartialRun::needed(std::uint64_t first, std::uint64_t last) const noexcept {
  const auto within = [&](const std::vector<std::uint64_t>& records) {
    return static_cast<std::uint64_t>(std::lower_bound(records.begin(), records.end(), last) -
                                      std::lower_bound(records.begin(), records.end(), first));
  };
  const detail::Stride deal{count, start, step};
  return within(singles) + deal.count_within(first, last, from, to) - within(except);
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
  const std::uint64_t runs_end = content.first_run + content.order.runs();
  const bool whole_front = content.begin == 0;
  const bool whole_back = content.end == content.order.records();
  const InFlight before =
      whole_front ? InFlight{{}, content.first_run} : in_flight(content.order, content.begin, content.first_run);
  const InFlight after = whole_back ? InFlight{{}, runs_end} : in_flight(content.order, content.end, content.first_run);

  Needs needs{.whole_begin = before.next_run, .whole_end = after.next_run, .partial = {}};
  std::map<std::uint64_t, PartialRun> partial;
  // Of a run that is partly in flight at one end, all records are still to come at the beginning, or gone at the end.
  const InFlight::Part none;
  const auto add = [&](std::uint64_t run) {
    const auto [found, is_new] = partial.try_emplace(run);
    if (!is_new) return;
    const auto at_begin = before.parts.find(run);
    const auto at_end = after.parts.find(run);
    const InFlight::Part& first = at_begin == before.parts.end() ? none : at_begin->second;
    const InFlight::Part& last = at_end == after.parts.end() ? none : at_end->second;
    const std::uint64_t position = run - content.first_run;
    const Run whole = content.order.run(position);
    const detail::Stride deal = content.order.deal(position, whole.count);
    found->second = {.run = run,
                     .singles = without(first.pooled, last.pooled),
                     .from = first.given,
                     .to = at_end == after.parts.end() ? whole.count : last.given,
                     .except = without(last.pooled, first.pooled),
                     .count = whole.count,
                     .start = deal.start,
                     .step = deal.step};
  };
  for (const auto& [run, part] : before.parts) add(run);
  for (const auto& [run, part] : after.parts) add(run);
  for (auto& [run, part] : partial) needs.partial.push_back(std::move(part));
  return needs;
}

}  // namespace dovetail
