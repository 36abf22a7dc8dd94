// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/plan_facts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "format/text/out_of_range.h"
#include "format/try.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/lane_runs.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

constexpr std::uint64_t kOrderVersion = 2;
constexpr std::uint64_t kOrderIdTag = 0x6F72646572;  // "order"
// A lane stores each run of an uncommon length, so the number that a manifest can cause is bounded.
constexpr std::uint64_t kMaxOddRuns = std::uint64_t{1} << 28;

using format::out_of_range;

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
  DOVETAIL_TRY(check_enum("order", options.order, OrderKind::global));
  DOVETAIL_TRY(check_enum("assign", options.assign, Assign::runs));
  return check_enum("tail", options.tail, Tail::wrap);
}

Result<void> check_together(const PlanOptions& options) {
  if (options.sticky && options.order != OrderKind::shuffle) {
    return Error(Errc::invalid_option, "sticky works with order = shuffle only: no other order permutes the shards");
  }
  if (options.assign == Assign::even) return {};
  if (options.assign == Assign::runs) {
    if (options.order == OrderKind::shuffle) return {};
    return Error(Errc::invalid_option,
                 "assign = runs works with order = shuffle only: no other order permutes the runs");
  }
  if (options.order == OrderKind::global) {
    return Error(Errc::invalid_option, "assign = files does not work with order = global, which deals single records");
  }
  if (options.mix.enabled()) {
    return Error(Errc::invalid_option, "assign = files does not work with a mix: its sources are cut even");
  }
  return {};
}

Result<void> derive_lanes(PlanFacts& facts) {
  const PlanOptions& options = facts.options;
  facts.readers = options.world / options.replicate;
  const std::uint32_t lanes = options.lanes != 0 ? options.lanes : facts.readers;
  facts.rows_per_step = std::uint64_t{facts.readers} * options.batch;
  if (lanes % facts.readers != 0 || facts.rows_per_step % lanes != 0) {
    return Error(Errc::invalid_option, "lanes = " + std::to_string(lanes) + " does not work with " +
                                           std::to_string(facts.readers) + " readers: it must be a multiple of " +
                                           std::to_string(facts.readers) + " and divide " +
                                           std::to_string(facts.rows_per_step));
  }
  if (lanes > kMaxLanes) {
    return out_of_range(options.lanes != 0 ? "lanes" : "world / replicate", lanes, one_to(kMaxLanes));
  }
  facts.grid = {lanes, facts.rows_per_step / lanes};
  return {};
}

Result<void> count_records(PlanFacts& facts) {
  const std::vector<ShardShape>& shards = facts.dataset->shards;
  if (shards.size() > std::numeric_limits<std::uint32_t>::max()) {
    return out_of_range("shards", shards.size(), one_to(std::numeric_limits<std::uint32_t>::max()));
  }
  facts.first_id.reserve(shards.size());
  for (const ShardShape& shard : shards) {
    const std::string of_shard = " of shard " + std::to_string(facts.first_id.size());
    if (shard.run_records == 0) return out_of_range("run_records" + of_shard, 0, "at least 1 is needed");
    if (std::min(shard.run_records, shard.records) > kMaxRunLength) {
      return out_of_range("records in a run" + of_shard, std::min(shard.run_records, shard.records),
                          one_to(kMaxRunLength));
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

Result<void> make_sources(PlanFacts& facts) {
  const DatasetShape& dataset = *facts.dataset;
  const Mix& mix = facts.options.mix;
  const auto shards = static_cast<std::uint32_t>(dataset.shards.size());
  if (!mix.enabled()) {
    facts.sources.push_back({0, shards, 0, facts.records});
    return {};
  }
  std::vector<std::uint32_t> counts = dataset.source_shards;
  if (counts.empty()) counts.push_back(shards);
  DOVETAIL_ASSIGN(facts.mix, make_entries(mix, counts.size()));
  std::uint64_t first = 0;
  for (const std::uint32_t count : counts) {
    if (count > shards - first) break;
    const std::uint64_t end = first + count;
    const std::uint64_t first_id = first < shards ? facts.first_id[first] : facts.records;
    const std::uint64_t end_id = end < shards ? facts.first_id[end] : facts.records;
    facts.sources.push_back({static_cast<std::uint32_t>(first), count, first_id, end_id - first_id});
    first = end;
  }
  if (first == shards && facts.sources.size() == counts.size()) return {};
  return Error(Errc::invalid_option,
               "source_shards do not add up to the " + std::to_string(shards) + " shards of the dataset");
}

Result<void> check_odd_runs(std::span<const ShardShape> shards) {
  std::vector<RunCount> counts;
  std::uint64_t runs = 0;
  for (const ShardShape& shard : shards) {
    if (shard.records == 0) continue;
    const std::uint64_t length = std::min(shard.run_records, shard.records);
    const RunCount shard_runs{length, divide_up(shard.records, length)};
    add_runs(counts, shard_runs);
    runs += shard_runs.runs;
  }
  const RunCount common = most_common_run(counts);
  if (runs - common.runs <= kMaxOddRuns) return {};
  return out_of_range("runs of another length than " + std::to_string(common.records) + " records", runs - common.runs,
                      "at most " + std::to_string(kMaxOddRuns) + " are allowed; pack the shards with one run_records");
}

/// With `Assign::runs` all runs of a source must have one length, so that the ends of the lanes
/// follow from the shards.
Result<void> check_one_run(const PlanFacts& facts, const Source& source) {
  const ShardShape* first = nullptr;
  for (std::uint32_t shard = source.first_shard; shard < source.first_shard + source.shards; ++shard) {
    const ShardShape& shape = facts.dataset->shards[shard];
    if (shape.records == 0) continue;
    if (first == nullptr) first = &shape;
    if (shape.run_records == first->run_records) continue;
    const std::string where = facts.mix == nullptr ? "all shards" : "all shards of a source";
    return Error(Errc::invalid_option, "assign = runs needs one run_records in " + where + ", but there are " +
                                           std::to_string(first->run_records) + " and, in shard " +
                                           std::to_string(shard) + ", " + std::to_string(shape.run_records) +
                                           ": use assign = even, or pack the shards with one run_records");
  }
  return {};
}

Hash128 hash_mix(const PlanFacts& facts) {
  if (facts.mix == nullptr) return {};
  const Mix& mix = facts.options.mix;
  std::vector<std::uint64_t> words{kMixTag, static_cast<std::uint64_t>(mix.stop), mix.steps, facts.sources.size()};
  for (const Source& source : facts.sources) words.push_back(source.shards);
  words.push_back(facts.mix->size());
  for (const MixEntry& entry : *facts.mix) {
    words.push_back(entry.from_step);
    words.insert(words.end(), entry.table.weights().begin(), entry.table.weights().end());
  }
  return hash_words(words);
}

}  // namespace

void derive_ids(PlanFacts& facts) {
  const PlanOptions& options = facts.options;
  const Hash128 dataset = facts.dataset->fingerprint;
  const auto order = static_cast<std::uint64_t>(options.order);
  const auto assign = static_cast<std::uint64_t>(options.assign);
  const auto tail = static_cast<std::uint64_t>(options.tail);
  const std::uint64_t sticky = options.sticky ? 1 : 0;
  facts.mix_hash = hash_mix(facts);
  facts.order_id = hash_words(std::array<std::uint64_t, 13>{
      kOrderVersion, kOrderIdTag, dataset.high, dataset.low, facts.grid.lanes, order, assign, sticky, options.open_runs,
      options.pool, options.seed, facts.mix_hash.high, facts.mix_hash.low});
  std::vector<std::uint64_t> words{kOrderVersion,
                                   dataset.high,
                                   dataset.low,
                                   options.world,
                                   options.batch,
                                   options.replicate,
                                   facts.grid.lanes,
                                   order,
                                   assign,
                                   tail,
                                   sticky,
                                   options.open_runs,
                                   options.pool,
                                   options.seed,
                                   facts.mix_hash.high,
                                   facts.mix_hash.low};
  if (facts.past) {
    words.push_back(facts.past->epoch);
    for (const State::Phase& phase : facts.past->phases) {
      words.insert(words.end(), {phase.steps, phase.lanes, phase.rows_per_lane});
    }
  }
  facts.plan_id = hash_words(words);
}

Hash128 state_content(const PlanFacts& facts) noexcept {
  const Hash128 dataset = facts.dataset->fingerprint;
  if (facts.mix == nullptr) return dataset;
  return {dataset.high ^ dataset.low, facts.mix_hash.high ^ facts.mix_hash.low};
}

Result<PlanFacts> make_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options) {
  if (dataset == nullptr) return Error(Errc::empty_input, "no dataset is given");
  DOVETAIL_TRY(check_ranges(options));
  DOVETAIL_TRY(check_together(options));
  PlanFacts facts;
  facts.dataset = std::move(dataset);
  facts.options = options;
  DOVETAIL_TRY(derive_lanes(facts));
  DOVETAIL_TRY(count_records(facts));
  DOVETAIL_TRY(make_sources(facts));
  for (const Source& source : facts.sources) {
    const std::span<const ShardShape> shards(facts.dataset->shards);
    DOVETAIL_TRY(check_odd_runs(shards.subspan(source.first_shard, source.shards)));
    if (options.assign != Assign::runs) continue;
    DOVETAIL_TRY(check_one_run(facts, source));
  }
  derive_ids(facts);
  return facts;
}

}  // namespace dovetail::detail
