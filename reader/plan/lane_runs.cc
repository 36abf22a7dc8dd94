// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/lane_runs.h"

#include <algorithm>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

/// The `count` records of `run` from its record number `first` on.
Run clip(Run run, std::uint64_t first, std::uint64_t count) noexcept {
  run.first_record += first;
  run.first_id += first;
  run.count = count;
  return run;
}

std::uint64_t most_common_length(const std::vector<LanePiece>& pieces) {
  std::vector<RunCount> full_runs;
  for (const LanePiece& piece : pieces) {
    const std::uint64_t first = divide_up(piece.begin, piece.run_records);
    const std::uint64_t last = piece.end / piece.run_records;
    if (first < last) add_runs(full_runs, {piece.run_records, last - first});
  }
  return most_common_run(full_runs).records;
}

}  // namespace

Run LanePiece::run(std::uint64_t index) const noexcept {
  const std::uint64_t whole = begin - begin % run_records + index * run_records;
  const std::uint64_t first = std::max(begin, whole);
  return {.shard = shard,
          .first_record = first,
          .count = std::min(end, whole + run_records) - first,
          .first_id = shard_id + first};
}

void add_runs(std::vector<RunCount>& counts, const RunCount& more) {
  if (counts.empty() || counts.back().records != more.records) counts.push_back({more.records, 0});
  counts.back().runs += more.runs;
}

RunCount most_common_run(std::vector<RunCount>& counts) {
  std::sort(counts.begin(), counts.end(), [](const RunCount& a, const RunCount& b) { return a.records < b.records; });
  RunCount best;
  RunCount same;
  for (const RunCount& count : counts) {
    if (count.records != same.records) same = {count.records, 0};
    same.runs += count.runs;
    if (same.runs > best.runs) best = same;
  }
  return best;
}

LaneRuns::LaneRuns(std::vector<LanePiece> pieces)
    : pieces_(std::move(pieces)), common_run_(most_common_length(pieces_)) {
  for (LanePiece& piece : pieces_) {
    piece.first_run = runs_;
    runs_ += piece.runs();
    records_ += piece.end - piece.begin;
  }
}

LaneRuns::LaneRuns(std::shared_ptr<const RunLine> line, std::uint64_t begin, std::uint64_t end)
    : line_(std::move(line)), records_(end - begin), common_run_(line_->run_records()) {
  if (begin == end) return;
  first_position_ = line_->position_of(begin);
  cut_front_ = begin - line_->records_before(first_position_);
  const std::uint64_t last_position = line_->position_of(end - 1);
  runs_ = last_position - first_position_ + 1;
  last_records_ = runs_ == 1 ? records_ : end - line_->records_before(last_position);
}

Run LaneRuns::run(std::uint64_t number) const noexcept {
  if (line_ != nullptr) {
    const Run run = line_->run(first_position_ + number);
    const std::uint64_t first = number == 0 ? cut_front_ : 0;
    return clip(run, first, number + 1 == runs_ ? last_records_ : run.count - first);
  }
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), number,
                                      [](std::uint64_t run, const LanePiece& piece) { return run < piece.first_run; });
  const LanePiece& piece = *(after - 1);
  return piece.run(number - piece.first_run);
}

std::vector<LaneRuns::OddRun> LaneRuns::odd_runs() const {
  std::vector<OddRun> odd;
  const auto add = [&](std::uint64_t number, std::uint64_t records) {
    if (records != common_run_) odd.push_back({number, records});
  };
  if (line_ != nullptr) {
    if (runs_ == 0) return odd;
    add(0, run(0).count);
    const std::uint64_t end = first_position_ + runs_ - 1;
    for (auto at = line_->first_short_run(first_position_ + 1); at != line_->short_runs().end() && at->position < end;
         ++at) {
      add(at->position - first_position_, at->records);
    }
    if (runs_ > 1) add(runs_ - 1, last_records_);
    return odd;
  }
  for (const LanePiece& piece : pieces_) {
    const std::uint64_t count = piece.runs();
    // All runs inside a piece have full length; only the first and the last may be shorter.
    const std::uint64_t step = piece.run_records == common_run_ && count > 2 ? count - 1 : 1;
    for (std::uint64_t index = 0; index < count; index += step) add(piece.first_run + index, piece.run(index).count);
  }
  return odd;
}

}  // namespace dovetail::detail
