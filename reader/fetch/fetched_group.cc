// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/fetched_group.h"

#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

namespace dovetail::detail {

void Fetched::finish(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers) {
  result = file != nullptr ? loaded.ready(run.shard, damaged)
                           : ReadyRun{.where = Entry::kDamage, .first_id = run.first_id, .shard = run.shard};
  if (!singles.empty()) find_singles(damage, record_bytes, buffers);
  file.reset();
}

void Fetched::find_singles(const DamageLog& damage, std::uint32_t record_bytes, BufferPool& buffers) {
  std::size_t bytes = 0;
  for (Single& single : singles) {
    SizedEntry& entry = single.entry;
    entry = entry_in(result, static_cast<std::uint32_t>(single.record));
    if (result.extents == nullptr) {
      entry = {result.where + single.record * result.stride, result.first_id + single.record, record_bytes,
               SizedEntry::kInMemory};
    }
    if (!entry.in_memory()) continue;
    if (is_lost(entry.where) || ((result.where & Entry::kDamage) != 0 && damage.is_damaged(entry.id))) {
      entry = {Entry::kDamage, entry.id, 0, SizedEntry::kInMemory};
    }
    bytes += entry.bytes;
  }
  // The copies are not taken from `buffers`: they count as pool memory, which has a reserve of its
  // own.
  if (bytes > 0) copies = AlignedBuffer(bytes);
  std::size_t at = 0;
  for (Single& single : singles) {
    SizedEntry& entry = single.entry;
    if (!entry.in_memory() || entry.bytes == 0) continue;
    std::memcpy(copies.data() + at, address_of(entry.where), entry.bytes);
    entry.where = to_where(copies.data() + at);
    at += entry.bytes;
  }
  buffers.give_back(loaded.take_room());
}

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
    Fetched& fetched = made.runs.emplace_back(run);
    for (; begin != end; ++begin) {
      fetched.singles.push_back({.record = picks[*begin].pick.record - first.record, .pick = *begin, .entry = {}});
    }
  }
  made.unready = made.runs.size();
  return made;
}

void FetchedGroup::give_back(BufferPool& buffers) {
  for (Fetched& run : runs) {
    buffers.give_back(run.loaded.take_room());
  }
  buffers.give_back(std::exchange(spare, {}));
}

}  // namespace dovetail::detail
