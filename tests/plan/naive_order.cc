// SPDX-License-Identifier: Apache-2.0
#include "tests/plan/naive_order.h"

#include <algorithm>
#include <limits>

#include "reader/plan/draws.h"
#include "reader/plan/permutation.h"
#include "reader/plan/wide_math.h"

namespace dovetail::testing {
namespace {

using detail::Draws;
using detail::Permutation;
using detail::Purpose;

struct Place {
  std::uint64_t id = 0;
  std::uint64_t run = 0;  // any number that differs between the runs of the dataset
};

using Ids = std::vector<std::uint64_t>;

/// Deals every record of the epoch's line to its lane.
std::vector<std::vector<Place>> deal(const DatasetShape& dataset, const PlanOptions& options, std::uint32_t epoch,
                                     std::uint64_t lanes) {
  std::vector<std::vector<Place>> shards;
  std::uint64_t records = 0;
  std::uint64_t run = 0;
  for (const ShardShape& shard : dataset.shards) {
    auto& places = shards.emplace_back();
    for (std::uint64_t record = 0; record < shard.records; ++record) {
      if (record % shard.run_records == 0) ++run;
      places.push_back({records++, run});
    }
  }
  const Permutation order = Permutation::keyed(shards.size(), Draws(options.seed, Purpose::shards, epoch, 0));
  std::vector<std::vector<Place>> dealt(lanes);
  std::uint64_t lane = 0;
  std::uint64_t line = 0;
  for (std::uint64_t position = 0; position < shards.size(); ++position) {
    for (const Place& place : shards[options.order == OrderKind::shuffle ? order(position) : position]) {
      while ((lane + 1) * records / lanes <= line) ++lane;
      dealt[options.assign == Assign::even ? lane : position % lanes].push_back(place);
      ++line;
    }
  }
  return dealt;
}

std::vector<Ids> cut_runs(const std::vector<Place>& places) {
  std::vector<Ids> runs;
  std::uint64_t last = 0;
  for (const Place& place : places) {
    if (place.run != last) runs.emplace_back();
    last = place.run;
    runs.back().push_back(place.id);
  }
  return runs;
}

Ids interleave(const std::vector<Ids>& runs, std::uint64_t open_runs) {
  Ids inputs;
  const std::uint64_t groups = (runs.size() + open_runs - 1) / open_runs;
  for (std::uint64_t group = 0; group < groups; ++group) {
    const std::uint64_t begin = group * runs.size() / groups;
    const std::uint64_t end = (group + 1) * runs.size() / groups;
    bool more = true;
    for (std::uint64_t round = 0; more; ++round) {
      more = false;
      for (std::uint64_t run = begin; run < end; ++run) {
        if (round >= runs[run].size()) continue;
        inputs.push_back(runs[run][round]);
        more = true;
      }
    }
  }
  return inputs;
}

Ids through_pool(const Ids& inputs, std::uint64_t capacity, const Draws& draws, const Draws& drain_keys) {
  const std::uint64_t size = std::min<std::uint64_t>(capacity, inputs.size());
  Ids pool(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(size));
  Ids outputs;
  for (std::uint64_t next = size; next < inputs.size(); ++next) {
    std::uint64_t& slot = pool[detail::scale_below(draws.word(next - size), size)];
    outputs.push_back(slot);
    slot = inputs[next];
  }
  const Permutation drain = Permutation::keyed(size, drain_keys);
  for (std::uint64_t i = 0; i < size; ++i) outputs.push_back(pool[drain(i)]);
  return outputs;
}

}  // namespace

NaiveLanes naive_lanes(const DatasetShape& dataset, const PlanOptions& options, std::uint32_t epoch) {
  const std::uint64_t count = options.lanes != 0 ? options.lanes : options.world / options.replicate;
  NaiveLanes lanes;
  for (const auto& places : deal(dataset, options, epoch, count)) {
    const auto lane = static_cast<std::uint32_t>(lanes.size());
    const std::vector<Ids> line = cut_runs(places);
    if (options.order == OrderKind::sequential) {
      auto& ids = lanes.emplace_back();
      for (const Place& place : places) ids.push_back(place.id);
      continue;
    }
    const Permutation order = Permutation::keyed(line.size(), Draws(options.seed, Purpose::runs, epoch, lane));
    std::vector<Ids> runs;
    for (std::uint64_t position = 0; position < line.size(); ++position) runs.push_back(line[order(position)]);
    lanes.push_back(through_pool(interleave(runs, options.open_runs), options.pool,
                                 Draws(options.seed, Purpose::pool, epoch, lane),
                                 Draws(options.seed, Purpose::drain, epoch, lane)));
  }
  return lanes;
}

std::optional<std::uint64_t> naive_steps(const NaiveLanes& lanes, const PlanOptions& options) {
  const std::uint64_t rows = std::uint64_t{options.world / options.replicate} * options.batch / lanes.size();
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (const auto& lane : lanes) {
    fewest = std::min<std::uint64_t>(fewest, lane.size());
    most = std::max<std::uint64_t>(most, lane.size());
  }
  if (options.tail == Tail::wrap && fewest == 0) return std::nullopt;
  const std::uint64_t steps = options.tail == Tail::drop ? fewest / rows : (most + rows - 1) / rows;
  if (steps == 0) return std::nullopt;
  return steps;
}

}  // namespace dovetail::testing
