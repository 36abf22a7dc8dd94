// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/run_line.h"

#include <algorithm>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

RunLine::RunLine(std::shared_ptr<const PlanFacts> facts, std::uint32_t source, const Draws& keys)
    : facts_(std::move(facts)), first_shard_(facts_->sources[source].first_shard), order_(Permutation::identity(0)) {
  const std::span<const ShardShape> shards =
      std::span(facts_->dataset->shards).subspan(first_shard_, facts_->sources[source].shards);
  for (const ShardShape& shard : shards) {
    run_records_ = std::max(run_records_, std::min(shard.run_records, shard.records));
  }
  std::uint64_t runs = 0;
  first_run_.reserve(shards.size());
  for (const ShardShape& shard : shards) {
    first_run_.push_back(runs);
    runs += divide_up(shard.records, run_records_);
  }
  order_ = Permutation::keyed(runs, keys);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const std::uint64_t rest = shards[shard].records % run_records_;
    if (rest == 0) continue;
    const std::uint64_t last = (shard + 1 < shards.size() ? first_run_[shard + 1] : runs) - 1;
    short_runs_.push_back({order_.inverse(last), rest, run_records_ - rest});
  }
  std::sort(short_runs_.begin(), short_runs_.end(),
            [](const ShortRun& a, const ShortRun& b) { return a.position < b.position; });
  std::uint64_t missing = 0;
  for (ShortRun& run : short_runs_) run.missing = missing += run.missing;
}

Run RunLine::run(std::uint64_t position) const noexcept {
  const std::uint64_t number = order_(position);
  // Shards without records have the same first run as the next shard; `upper_bound` skips them.
  const auto after = std::upper_bound(first_run_.begin(), first_run_.end(), number);
  const auto index = static_cast<std::size_t>(after - first_run_.begin()) - 1;
  const ShardShape& shape = facts_->dataset->shards[first_shard_ + index];
  const std::uint64_t first = (number - first_run_[index]) * run_records_;
  const std::uint64_t count = std::min(run_records_, shape.records - first);
  return {.shard = first_shard_ + static_cast<std::uint32_t>(index),
          .first_record = first,
          .count = count,
          .first_id = facts_->first_id[first_shard_ + index] + first};
}

std::vector<RunLine::ShortRun>::const_iterator RunLine::first_short_run(std::uint64_t position) const noexcept {
  return std::lower_bound(short_runs_.begin(), short_runs_.end(), position,
                          [](const ShortRun& run, std::uint64_t at) { return run.position < at; });
}

std::uint64_t RunLine::records_before(std::uint64_t position) const noexcept {
  const auto found = first_short_run(position);
  // The arithmetic is modulo 2^64: the product may wrap, the result is below 2^55.
  return position * run_records_ - (found == short_runs_.begin() ? 0 : (found - 1)->missing);
}

std::uint64_t RunLine::position_of(std::uint64_t record) const noexcept {
  std::uint64_t position = 0;
  std::uint64_t end = runs();
  while (end - position > 1) {
    const std::uint64_t middle = position + (end - position) / 2;
    (records_before(middle) <= record ? position : end) = middle;
  }
  return position;
}

}  // namespace dovetail::detail
