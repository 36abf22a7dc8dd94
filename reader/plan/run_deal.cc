// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/run_deal.h"

#include <algorithm>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

std::uint64_t count_chunks(const Run& run) noexcept {
  return run.count <= run.first_chunk ? 1 : 1 + divide_up(run.count - run.first_chunk, run.chunk_records);
}

RunDeal::RunDeal(const Run& run, const Draws& draws, std::uint64_t first_id, Stride chunks) noexcept
    : count_(run.count),
      chunk_records_(run.chunk_records),
      first_chunk_(run.first_chunk),
      first_id_(first_id),
      draws_(&draws),
      chunks_(chunks) {}

RunDeal::RunDeal(const Run& run) noexcept
    : count_(run.count),
      chunk_records_(run.chunk_records),
      first_chunk_(run.first_chunk),
      chunks_{.size = count_chunks(run)} {}

std::uint64_t RunDeal::begin_of(std::uint64_t number) const noexcept {
  return number == 0 ? 0 : first_chunk_ + (number - 1) * chunk_records_;
}

std::uint64_t RunDeal::chunk_of(std::uint64_t record) const noexcept {
  return record < first_chunk_ ? 0 : 1 + (record - first_chunk_) / chunk_records_;
}

std::uint64_t RunDeal::end_of(std::uint64_t number) const noexcept {
  return number + 1 == chunks_.size ? count_ : first_chunk_ + number * chunk_records_;
}

Chunk RunDeal::chunk(std::uint64_t number) const noexcept {
  Chunk made{.number = number, .begin = begin_of(number), .records = {}};
  const std::uint64_t size = end_of(number) - made.begin;
  made.records.size = size;
  if (draws_ == nullptr || size == 1) return made;
  const auto [start, step] = draws_->pair(first_id_ + made.begin);
  made.records.start = scale_below(start, size);
  made.records.step = stride_over(size, step);
  return made;
}

// All chunks but the first and the last have the same size.
std::uint64_t RunDeal::dealt_before(std::uint64_t place) const noexcept {
  std::uint64_t records = place * chunk_records_;
  if (place > chunks_.place_of(0)) records -= chunk_records_ - end_of(0);
  const std::uint64_t last = chunks_.size - 1;
  if (last > 0 && place > chunks_.place_of(last)) records -= chunk_records_ - (count_ - begin_of(last));
  return records;
}

RunDeal::Place RunDeal::place_of(std::uint64_t dealt) const noexcept {
  if (dealt == 0) return {chunk(chunks_.start), 0};
  std::uint64_t place = std::min(dealt / chunk_records_, chunks_.size - 1);
  while (place + 1 < chunks_.size && dealt_before(place + 1) <= dealt) ++place;
  return {chunk(chunks_.at(place)), dealt - dealt_before(place)};
}

std::uint64_t RunDeal::record(std::uint64_t dealt) const noexcept {
  const Place place = place_of(dealt);
  return place.chunk.begin + place.chunk.records.at(place.dealt);
}

Chunk RunDeal::after(std::uint64_t number) const noexcept {
  const std::uint64_t left = chunks_.size - number;
  return chunk(chunks_.step >= left ? chunks_.step - left : number + chunks_.step);
}

std::uint64_t RunDeal::count_within(std::uint64_t first, std::uint64_t last, std::uint64_t from,
                                    std::uint64_t to) const noexcept {
  if (first >= last || from >= to) return 0;
  if (first == 0 && last == count_) return to - from;
  if (from == 0 && to == count_) return last - first;
  std::uint64_t count = 0;
  for (std::uint64_t number = chunk_of(first); number <= chunk_of(last - 1); ++number) {
    const std::uint64_t before = dealt_before(chunks_.place_of(number));
    const std::uint64_t begin = begin_of(number);
    const std::uint64_t end = end_of(number);
    const std::uint64_t given = std::max(from, before);
    const std::uint64_t given_end = std::min(to, before + (end - begin));
    if (given >= given_end) continue;
    if (given_end - given == end - begin) {
      count += std::min(last, end) - std::max(first, begin);
    } else if (first <= begin && last >= end) {
      count += given_end - given;
    } else {
      const ChunkPart part{chunk(number), given - before, given_end - before};
      for (std::uint64_t dealt = part.from; dealt < part.to; ++dealt) {
        const std::uint64_t record = part.record(dealt);
        if (record >= first && record < last) ++count;
      }
    }
  }
  return count;
}

}  // namespace dovetail::detail
