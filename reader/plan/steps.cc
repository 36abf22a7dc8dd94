// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "reader/plan/plan_facts.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

std::string in_epoch(const PlanFacts& facts, std::uint32_t epoch) {
  return facts.options.assign == Assign::files ? " in epoch " + std::to_string(epoch) : "";
}

Error batch_too_big(const PlanFacts& facts, std::uint64_t fewest, std::uint32_t epoch) {
  // A batch must be a multiple of the lanes of a reader.
  const std::uint64_t largest = fewest * (facts.lanes / facts.readers);
  return Error(Errc::no_steps,
               "batch = " + std::to_string(facts.options.batch) + " takes " + std::to_string(facts.rows_per_lane) +
                   " records of every lane for a step, but one has " + std::to_string(fewest) + in_epoch(facts, epoch) +
                   ": the largest batch that works is " + std::to_string(largest));
}

/// The most readers, each with one lane, that all get a record: with `files` in every epoch, however the empty shards
/// fall.
std::uint64_t most_readers(const PlanFacts& facts) {
  if (facts.options.assign == Assign::even) return facts.records;
  return facts.dataset->shards.size() / (std::uint64_t{facts.empty_shards} + 1);
}

Error too_many_lanes(const PlanFacts& facts, std::uint32_t epoch) {
  std::uint64_t readers = most_readers(facts);
  std::string condition;
  if (facts.options.tail == Tail::drop) {
    // Whole files give no bound on the records of the smallest lane but 1.
    const bool even = facts.options.assign == Assign::even;
    const std::uint64_t with_batch = even ? facts.records / facts.options.batch : 0;
    if (with_batch != 0) {
      readers = with_batch;
    } else if (facts.options.batch != 1) {
      condition = "batch = 1";
    }
  }
  if (facts.options.lanes != 0) condition += condition.empty() ? "lanes = 0" : " and lanes = 0";
  if (!condition.empty()) condition = " (with " + condition + ")";
  return Error(Errc::no_steps, "one of " + std::to_string(facts.lanes) + " lanes has no record" +
                                   in_epoch(facts, epoch) + ": the largest world that works is " +
                                   std::to_string(readers * facts.options.replicate) + condition);
}

}  // namespace

Result<std::uint64_t> count_steps(const PlanFacts& facts, LaneSizes sizes, std::uint32_t epoch) {
  const bool every_lane_needs_a_record = facts.options.tail != Tail::pad;
  if (every_lane_needs_a_record && sizes.fewest == 0) return too_many_lanes(facts, epoch);
  if (facts.options.tail != Tail::drop) return divide_up(sizes.most, facts.rows_per_lane);
  if (sizes.fewest < facts.rows_per_lane) return batch_too_big(facts, sizes.fewest, epoch);
  return sizes.fewest / facts.rows_per_lane;
}

}  // namespace dovetail::detail
