// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/fetched_group.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace dovetail::detail {

FetchedGroup FetchedGroup::of(const PassOrder& order, std::uint64_t number) {
  FetchedGroup made;
  made.number = number;
  const std::uint64_t begin = order.group_begin(number);
  const std::uint64_t end = order.group_begin(number + 1);
  made.runs.reserve(static_cast<std::size_t>(end - begin));
  for (std::uint64_t run = begin; run < end; ++run) made.runs.emplace_back(order.run(run));
  made.unready = made.runs.size();
  return made;
}

FetchedGroup FetchedGroup::of(const PassOrder& order, std::span<const PooledPick> picks) {
  FetchedGroup made;
  std::vector<std::size_t> by_run(picks.size());
  std::iota(by_run.begin(), by_run.end(), std::size_t{0});
  std::sort(by_run.begin(), by_run.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(picks[a].pick.run, picks[a].pick.record) < std::pair(picks[b].pick.run, picks[b].pick.record);
  });
  for (auto begin = by_run.begin(); begin != by_run.end();) {
    const Pick& first = picks[*begin].pick;
    const auto end =
        std::find_if(begin, by_run.end(), [&](std::size_t pick) { return picks[pick].pick.run != first.run; });
    Run run = order.run(first.run);
    run.first_record += first.record;
    run.first_id += first.record;
    run.count = picks[*std::prev(end)].pick.record - first.record + 1;
    LoadedRun& loaded = made.runs.emplace_back(run);
    for (; begin != end; ++begin) {
      loaded.singles.push_back({.record = picks[*begin].pick.record - first.record, .pick = *begin, .entry = {}});
    }
  }
  made.unready = made.runs.size();
  return made;
}

void FetchedGroup::give_back(BufferPool& buffers) {
  for (LoadedRun& run : runs) buffers.give_back(run.take_room());
  buffers.give_back(std::exchange(spare, {}));
}

}  // namespace dovetail::detail
