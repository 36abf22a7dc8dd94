// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/plan_facts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "reader/plan/hash_words.h"
#include "reader/plan/lane_layout.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

constexpr std::uint64_t kOrderVersion = 1;
constexpr std::uint64_t kOrderIdTag = 0x6F72646572;  // "order"
constexpr std::uint32_t kMaxLanes = 1u << 24;
constexpr std::uint32_t kMaxOpenRuns = 1u << 16;
constexpr std::uint32_t kMaxPool = 1u << 24;
constexpr std::uint64_t kMaxRecords = (std::uint64_t{1} << 55) - 1;
// A lane remembers each of its runs that has not the common length, so a manifest must not be able to claim any number.
constexpr std::uint64_t kMaxOddRuns = std::uint64_t{1} << 28;

Error out_of_range(const std::string& field, std::uint64_t value, const std::string& allowed) {
  return Error(Errc::invalid_option, field + " = " + std::to_string(value) + " is out of range: " + allowed);
}

std::string one_to(std::uint64_t last) {
  return "1 to " + std::to_string(last) + " are allowed";
}

template <class Enum>
Result<void> check_enum(const char* field, Enum value, Enum last) {
  if (value <= last) return {};
  return out_of_range(field, static_cast<std::uint64_t>(value),
                      "0 to " + std::to_string(static_cast<unsigned>(last)) + " are known");
}

Result<void> check_ranges(const PlanOptions& options) {
  if (options.world == 0) return out_of_range("world", 0, "at least 1 rank is needed");
  if (options.batch == 0) return out_of_range("batch", 0, "at least 1 row is needed");
  if (options.replicate == 0 || options.world % options.replicate != 0) {
    return Error(Errc::invalid_option, "replicate = " + std::to_string(options.replicate) +
                                           " does not work with world = " + std::to_string(options.world) +
                                           ": it must divide the world");
  }
  if (options.open_runs == 0 || options.open_runs > kMaxOpenRuns) {
    return out_of_range("open_runs", options.open_runs, one_to(kMaxOpenRuns));
  }
  if (options.pool == 0 || options.pool > kMaxPool) return out_of_range("pool", options.pool, one_to(kMaxPool));
  if (auto known = check_enum("order", options.order, OrderKind::sequential); !known) return known;
  if (auto known = check_enum("assign", options.assign, Assign::files); !known) return known;
  return check_enum("tail", options.tail, Tail::wrap);
}

Result<void> derive_lanes(PlanFacts& facts) {
  const PlanOptions& options = facts.options;
  facts.readers = options.world / options.replicate;
  facts.lanes = options.lanes != 0 ? options.lanes : facts.readers;
  facts.rows_per_step = std::uint64_t{facts.readers} * options.batch;
  if (facts.lanes % facts.readers != 0 || facts.rows_per_step % facts.lanes != 0) {
    return Error(Errc::invalid_option, "lanes = " + std::to_string(facts.lanes) + " does not work with " +
                                           std::to_string(facts.readers) + " readers: it must be a multiple of " +
                                           std::to_string(facts.readers) + " and divide " +
                                           std::to_string(facts.rows_per_step));
  }
  if (facts.lanes > kMaxLanes) {
    return options.lanes != 0 ? out_of_range("lanes", facts.lanes, one_to(kMaxLanes))
                              : out_of_range("world / replicate", facts.lanes, one_to(kMaxLanes));
  }
  facts.rows_per_lane = facts.rows_per_step / facts.lanes;
  return {};
}

Result<void> count_records(PlanFacts& facts) {
  const std::vector<ShardShape>& shards = facts.dataset->shards;
  if (shards.size() > std::numeric_limits<std::uint32_t>::max()) {
    return out_of_range("shards", shards.size(), one_to(std::numeric_limits<std::uint32_t>::max()));
  }
  facts.first_id.reserve(shards.size());
  for (const ShardShape& shard : shards) {
    if (shard.run_records == 0) {
      return out_of_range("run_records of shard " + std::to_string(facts.first_id.size()), 0, "at least 1 is needed");
    }
    if (shard.records > kMaxRecords - facts.records) {
      return Error(Errc::invalid_option, "the dataset has more than " + std::to_string(kMaxRecords) + " records");
    }
    facts.first_id.push_back(facts.records);
    facts.records += shard.records;
    if (shard.records == 0) ++facts.empty_shards;
  }
  if (facts.records == 0) return Error(Errc::empty_input, "the dataset has no record");
  return {};
}

Result<void> check_odd_runs(const DatasetShape& dataset) {
  std::vector<RunCount> counts;
  counts.reserve(dataset.shards.size());
  std::uint64_t runs = 0;
  for (const ShardShape& shard : dataset.shards) {
    if (shard.records == 0) continue;
    const std::uint64_t length = std::min(shard.run_records, shard.records);
    counts.push_back({length, divide_up(shard.records, length)});
    runs += counts.back().runs;
  }
  const RunCount common = most_common_run(counts);
  if (runs - common.runs <= kMaxOddRuns) return {};
  return out_of_range("runs of another length than " + std::to_string(common.records) + " records", runs - common.runs,
                      "at most " + std::to_string(kMaxOddRuns) + " are allowed; pack the shards with one run_records");
}

void derive_ids(PlanFacts& facts) {
  const PlanOptions& options = facts.options;
  const Hash128 dataset = facts.dataset->fingerprint;
  const auto order = static_cast<std::uint64_t>(options.order);
  const auto assign = static_cast<std::uint64_t>(options.assign);
  const auto tail = static_cast<std::uint64_t>(options.tail);
  facts.plan_id = hash_words(std::array<std::uint64_t, 13>{kOrderVersion, dataset.high, dataset.low, options.world,
                                                           options.batch, options.replicate, facts.lanes, order, assign,
                                                           tail, options.open_runs, options.pool, options.seed});
  facts.order_id =
      hash_words(std::array<std::uint64_t, 10>{kOrderVersion, kOrderIdTag, dataset.high, dataset.low, facts.lanes,
                                               order, assign, options.open_runs, options.pool, options.seed});
}

}  // namespace

Result<PlanFacts> make_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options) {
  if (dataset == nullptr) return Error(Errc::empty_input, "no dataset is given");
  if (auto checked = check_ranges(options); !checked) return checked.error();
  PlanFacts facts;
  facts.dataset = std::move(dataset);
  facts.options = options;
  if (auto derived = derive_lanes(facts); !derived) return derived.error();
  if (auto counted = count_records(facts); !counted) return counted.error();
  if (auto checked = check_odd_runs(*facts.dataset); !checked) return checked.error();
  derive_ids(facts);
  return facts;
}

}  // namespace dovetail::detail
