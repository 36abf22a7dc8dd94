// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "format/try.h"
#include "reader/plan/plan_facts.h"
#include "reader/plan/shard_line.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

std::string in_epoch(const PlanFacts& facts) {
  return facts.lanes_vary() ? " in some epoch" : "";
}

Error batch_too_big(const PlanFacts& facts, const LaneGrid& grid, std::uint64_t fewest) {
  // A batch must be a multiple of the lanes of a reader. In a mix the lane lengths depend on the
  // batch, so no largest batch is known.
  const std::uint64_t largest = fewest * (grid.lanes / facts.readers);
  std::string advice =
      facts.mix == nullptr ? "the largest batch that works is " + std::to_string(largest) : "use a smaller batch";
  if (facts.options.tail == Tail::drop) advice += "; tail = pad fills up a larger one";
  return Error(Errc::no_steps, "batch = " + std::to_string(facts.options.batch) + " takes " +
                                   std::to_string(grid.rows_per_lane) +
                                   " records of every lane for a step, but one has " + std::to_string(fewest) +
                                   in_epoch(facts) + ": " + advice);
}

/// The most readers with one lane each for which every lane has a record. With `files` this holds
/// in every epoch, for any placement of the empty shards.
std::uint64_t most_readers(const PlanFacts& facts) {
  if (facts.options.assign != Assign::files) return facts.records;
  return facts.dataset->shards.size() / (std::uint64_t{facts.empty_shards} + 1);
}

Error too_many_lanes(const PlanFacts& facts, const LaneGrid& grid) {
  std::uint64_t readers = most_readers(facts);
  std::string condition;
  if (facts.options.tail == Tail::drop) {
    // With whole shards as lanes, nothing is known of the smallest lane except that it has a
    // record.
    const bool even = facts.options.assign != Assign::files;
    const std::uint64_t with_batch = even ? facts.records / facts.options.batch : 0;
    if (with_batch != 0) {
      readers = with_batch;
    } else if (facts.options.batch != 1) {
      condition = "batch = 1";
    }
  }
  if (facts.options.lanes != 0) condition += condition.empty() ? "lanes = 0" : " and lanes = 0";
  if (!condition.empty()) condition = " (with " + condition + ")";
  return Error(Errc::no_steps, "one of " + std::to_string(grid.lanes) + " lanes has no record" + in_epoch(facts) +
                                   ": the largest world that works is " +
                                   std::to_string(readers * facts.options.replicate) + condition);
}

Result<LaneLengths> mixed_lengths(const PlanFacts& facts, const LaneGrid& grid) {
  const MixSchedule schedule(facts.mix, grid.rows_per_lane);
  std::vector<std::uint64_t> parts(facts.sources.size());
  std::vector<std::uint64_t> last_parts;
  std::vector<std::uint64_t> lengths;
  std::uint64_t total = 0;
  for (std::uint32_t source = 0; source < facts.sources.size(); ++source) {
    if (!schedule.used(source) || facts.sources[source].records >= grid.lanes) continue;
    return Error(Errc::no_steps, "source " + std::to_string(source) + " of the mix has " +
                                     std::to_string(facts.sources[source].records) + " records for " +
                                     std::to_string(grid.lanes) + " lanes: use fewer, or give it the weight 0");
  }
  for (std::uint32_t lane = 0; lane < grid.lanes; ++lane) {
    for (std::uint32_t source = 0; source < parts.size(); ++source) {
      parts[source] = LaneLengths::even(facts.sources[source].records, grid.lanes).length(lane);
    }
    if (parts != last_parts) {
      DOVETAIL_ASSIGN(const std::uint64_t rows, schedule.rows(facts.options.mix, parts));
      lengths.push_back(rows);
      last_parts = parts;
    } else {
      lengths.push_back(lengths.back());
    }
    total += lengths.back();
    if (total >= kMaxRecords) {
      return Error(Errc::invalid_option, "an epoch of the mix has " + std::to_string(kMaxRecords) + " rows or more");
    }
  }
  return LaneLengths::listed(lengths, grid.lanes);
}

Result<void> check_fewest(const PlanFacts& facts, const LaneGrid& grid, std::uint64_t fewest) {
  if (facts.options.tail != Tail::pad && fewest == 0) return too_many_lanes(facts, grid);
  if (facts.options.tail != Tail::drop || fewest >= grid.rows_per_lane) return {};
  return batch_too_big(facts, grid, fewest);
}

}  // namespace

Result<LaneLengths> lane_lengths(const PlanFacts& facts, const LaneGrid& grid, std::uint32_t epoch) {
  if (facts.mix != nullptr) return mixed_lengths(facts, grid);
  if (facts.options.assign != Assign::files) return LaneLengths::even(facts.records, grid.lanes);
  return LaneLengths::listed(ShardLine(facts, grid.lanes, {epoch, 0, 0}).file_lanes(), grid.lanes);
}

Result<void> check_files(const PlanFacts& facts) {
  std::vector<std::uint64_t> records;
  records.reserve(facts.dataset->shards.size());
  for (const ShardShape& shard : facts.dataset->shards) records.push_back(shard.records);
  // A lane has at least this many shards, and in some epoch these are the smallest shards.
  const auto shards = static_cast<std::ptrdiff_t>(records.size() / facts.grid.lanes);
  std::nth_element(records.begin(), records.begin() + shards, records.end());
  return check_fewest(facts, facts.grid, std::accumulate(records.begin(), records.begin() + shards, std::uint64_t{0}));
}

Result<std::uint64_t> count_steps(const PlanFacts& facts, const LaneGrid& grid, const LaneLengths& lengths) {
  DOVETAIL_TRY(check_fewest(facts, grid, lengths.fewest()));
  if (facts.options.tail == Tail::drop) return lengths.fewest() / grid.rows_per_lane;
  return divide_up(lengths.most(), grid.rows_per_lane);
}

}  // namespace dovetail::detail
