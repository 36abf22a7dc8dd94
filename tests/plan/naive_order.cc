// SPDX-License-Identifier: Apache-2.0
#include "tests/plan/naive_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "reader/plan/draws.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/permutation.h"
#include "reader/plan/wide_math.h"

namespace dovetail::test {
namespace {

using detail::Draws;
using detail::Permutation;
using detail::Purpose;

struct Place {
  std::uint64_t id = 0;   // in the dataset
  std::uint64_t run = 0;  // any number that differs between the runs of the dataset
};

using Ids = std::vector<std::uint64_t>;

/// One pass over one source.
struct Pass {
  std::size_t first_shard = 0;
  std::size_t shards = 0;
  std::uint64_t seed = 0;
  std::uint64_t line_seed = 0;  // of the permutation of the shards
  std::uint32_t epoch = 0;
};

/// Every record of a pass, shard by shard.
std::vector<std::vector<Place>> places_of(const DatasetShape& dataset, const Pass& pass) {
  std::vector<std::vector<Place>> shards;
  std::uint64_t id = 0;
  std::uint64_t run = 0;
  for (std::size_t shard = 0; shard < pass.first_shard + pass.shards; ++shard) {
    const ShardShape& shape = dataset.shards[shard];
    std::vector<Place> places;
    for (std::uint64_t record = 0; record < shape.records; ++record, ++id) {
      if (record % shape.run_records == 0) ++run;
      if (shard >= pass.first_shard) places.push_back({id, run});
    }
    if (shard >= pass.first_shard) shards.push_back(std::move(places));
  }
  return shards;
}

/// Cuts places where `key` changes.
template <class Key>
std::vector<std::vector<Place>> cut(const std::vector<Place>& places, const Key& key) {
  std::vector<std::vector<Place>> parts;
  for (const Place& place : places) {
    if (parts.empty() || key(parts.back().back()) != key(place)) parts.emplace_back();
    parts.back().push_back(place);
  }
  return parts;
}

/// Deals every record of a pass to its lane.
std::vector<std::vector<Place>> deal(const DatasetShape& dataset, const PlanOptions& options, const Pass& pass,
                                     std::uint64_t lanes) {
  std::vector<std::vector<Place>> parts = places_of(dataset, pass);
  Purpose purpose = Purpose::shards;
  if (options.assign == Assign::runs) {
    purpose = Purpose::run_line;
    std::vector<Place> all;
    for (const auto& shard : parts) all.insert(all.end(), shard.begin(), shard.end());
    parts = cut(all, [](const Place& place) { return place.run; });
  }
  std::uint64_t records = 0;
  for (const auto& part : parts) records += part.size();
  const Permutation order =
      Permutation::keyed(parts.size(), Draws(pass.line_seed, purpose, options.sticky ? 0 : pass.epoch, 0));
  std::vector<std::vector<Place>> dealt(lanes);
  std::uint64_t lane = 0;
  std::uint64_t line = 0;
  for (std::uint64_t position = 0; position < parts.size(); ++position) {
    for (const Place& place : parts[options.order == OrderKind::shuffle ? order(position) : position]) {
      while ((lane + 1) * records / lanes <= line) ++lane;
      dealt[options.assign == Assign::files ? position % lanes : lane].push_back(place);
      ++line;
    }
  }
  return dealt;
}

std::uint64_t naive_stride(std::uint64_t size, std::uint64_t word) {
  if (size < 3) return size - 1;
  const std::uint64_t low = size >= 32 ? 8 : 1;
  std::uint64_t stride = low + detail::scale_below(word, size - 2 * low + 1);
  while (std::gcd(stride, size) > 1) stride = stride == size - low ? low : stride + 1;
  return stride;
}

struct LaneDraws {
  const Pass& pass;
  std::uint32_t lane;

  std::uint64_t word(Purpose purpose, std::uint64_t index) const {
    return Draws(pass.seed, purpose, pass.epoch, lane).word(index);
  }
};

/// The records of a run, which was opened as this number, in the order in which it gives them.
Ids dealt_run(const std::vector<Place>& run, std::uint64_t opened, const LaneDraws& draws) {
  const std::uint64_t start = detail::scale_below(draws.word(Purpose::stride, 2 * opened), run.size());
  const std::uint64_t stride = naive_stride(run.size(), draws.word(Purpose::stride, 2 * opened + 1));
  Ids ids;
  for (std::uint64_t i = 0; i < run.size(); ++i) ids.push_back(run[(start + i * stride) % run.size()].id);
  return ids;
}

Ids interleave(const std::vector<std::vector<Place>>& runs, std::uint64_t open_runs, const LaneDraws& draws) {
  Ids inputs;
  const std::uint64_t groups = runs.empty() ? 0 : std::max<std::uint64_t>(1, runs.size() / open_runs);
  for (std::uint64_t group = 0; group < groups; ++group) {
    const std::uint64_t begin = group * runs.size() / groups;
    const std::uint64_t end = (group + 1) * runs.size() / groups;
    std::uint64_t turns = 0;
    for (std::uint64_t run = begin; run < end; ++run) turns = std::max<std::uint64_t>(turns, runs[run].size());
    std::vector<Ids> given(turns);
    for (std::uint64_t run = begin; run < end; ++run) {
      const std::uint64_t pause = detail::scale_below(draws.word(Purpose::pause, run), turns);
      std::vector<bool> pauses(turns);
      for (std::uint64_t i = 0; i < turns - runs[run].size(); ++i) pauses[(pause + i) % turns] = true;
      const Ids ids = dealt_run(runs[run], run, draws);
      for (std::uint64_t turn = 0, next = 0; turn < turns; ++turn) {
        if (!pauses[turn]) given[turn].push_back(ids[next++]);
      }
    }
    for (const Ids& turn : given) inputs.insert(inputs.end(), turn.begin(), turn.end());
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

NaiveLanes scatter(const DatasetShape& dataset, const Pass& pass, std::uint64_t lanes) {
  std::uint64_t first_id = 0;
  std::uint64_t records = 0;
  for (std::size_t shard = 0; shard < pass.first_shard + pass.shards; ++shard) {
    (shard < pass.first_shard ? first_id : records) += dataset.shards[shard].records;
  }
  const Permutation order = Permutation::keyed(records, Draws(pass.seed, Purpose::global, pass.epoch, 0));
  NaiveLanes scattered(lanes);
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    for (std::uint64_t at = lane * records / lanes; at < (lane + 1) * records / lanes; ++at) {
      scattered[lane].push_back(first_id + order(at));
    }
  }
  return scattered;
}

NaiveLanes lanes_of_pass(const DatasetShape& dataset, const PlanOptions& options, const Pass& pass,
                         std::uint64_t count) {
  if (options.order == OrderKind::global) return scatter(dataset, pass, count);
  NaiveLanes lanes;
  for (const auto& places : deal(dataset, options, pass, count)) {
    const auto lane = static_cast<std::uint32_t>(lanes.size());
    if (options.order == OrderKind::sequential) {
      auto& ids = lanes.emplace_back();
      for (const Place& place : places) ids.push_back(place.id);
      continue;
    }
    const auto line = cut(places, [](const Place& place) { return place.run; });
    const Permutation order = Permutation::keyed(line.size(), Draws(pass.seed, Purpose::runs, pass.epoch, lane));
    std::vector<std::vector<Place>> runs;
    for (std::uint64_t position = 0; position < line.size(); ++position) runs.push_back(line[order(position)]);
    lanes.push_back(through_pool(interleave(runs, options.open_runs, {pass, lane}), options.pool,
                                 Draws(pass.seed, Purpose::pool, pass.epoch, lane),
                                 Draws(pass.seed, Purpose::drain, pass.epoch, lane)));
  }
  return lanes;
}

/// Weights scaled to a sum of 65536: rounded down, and the largest remainders rounded up.
std::vector<std::uint64_t> scaled(const std::vector<std::uint32_t>& weights) {
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : weights) sum += weight;
  std::vector<std::uint64_t> result;
  std::uint64_t left = 65536;
  for (const std::uint32_t weight : weights) {
    result.push_back(weight * std::uint64_t{65536} / sum);
    left -= result.back();
  }
  for (std::vector<bool> done(weights.size()); left > 0; --left) {
    std::size_t best = weights.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto remainder = [&](std::size_t of) { return weights[of] * std::uint64_t{65536} % sum; };
      if (!done[i] && (best == weights.size() || remainder(i) > remainder(best))) best = i;
    }
    done[best] = true;
    ++result[best];
  }
  return result;
}

/// Which source each row of a lane comes from: one unit of work after the other, by earliest
/// deadline.
class SourceOfRows {
 public:
  SourceOfRows(const PlanOptions& options, std::uint64_t rows_per_lane)
      : options_(options), rows_per_lane_(rows_per_lane) {}

  std::size_t next() {
    const auto& schedule = options_.mix.schedule;
    while (entry_ < schedule.size() && schedule[entry_].from_step * rows_per_lane_ == row_) {
      weights_ = scaled(schedule[entry_++].weights);
      taken_.assign(weights_.size(), 0);
      since_ = 0;
    }
    std::size_t chosen = weights_.size();
    const auto deadline = [&](std::size_t i) { return ((taken_[i] + 1) * 65536 + weights_[i] - 1) / weights_[i]; };
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0 || taken_[i] * 65536 >= (since_ + 1) * weights_[i]) continue;
      if (chosen == weights_.size() || deadline(i) < deadline(chosen)) chosen = i;
    }
    ++taken_[chosen];
    ++since_;
    ++row_;
    return chosen;
  }

 private:
  const PlanOptions& options_;
  std::uint64_t rows_per_lane_;
  std::size_t entry_ = 0;
  std::uint64_t row_ = 0;
  std::uint64_t since_ = 0;
  std::vector<std::uint64_t> weights_;
  std::vector<std::uint64_t> taken_;
};

class NaiveMix {
 public:
  NaiveMix(const DatasetShape& dataset, const PlanOptions& options, std::uint32_t epoch)
      : dataset_(dataset), options_(options), epoch_(epoch), passes_(dataset.source_shards.size()) {}

  std::optional<NaiveLanes> lanes() {
    const std::uint64_t count = lanes_of(options_);
    for (std::size_t source = 0; source < passes_.size(); ++source) {
      std::uint64_t smallest = kNoId;
      for (const Ids& lane : pass(source, 0)) smallest = std::min<std::uint64_t>(smallest, lane.size());
      if (used(source) && smallest == 0) return std::nullopt;
    }
    NaiveLanes lanes(count);
    for (std::size_t lane = 0; lane < count; ++lane) {
      SourceOfRows rows(options_, rows_per_lane_of(options_));
      std::vector<std::uint64_t> taken(passes_.size());
      while (!ended(lane, lanes[lane].size(), taken)) {
        const std::size_t source = rows.next();
        const std::uint64_t length = pass(source, 0)[lane].size();
        if (options_.mix.stop == MixStop::first && taken[source] == length) break;
        lanes[lane].push_back(pass(source, taken[source] / length)[lane][taken[source] % length]);
        ++taken[source];
        if (lanes[lane].size() > kNaiveRows) return std::nullopt;
      }
    }
    return lanes;
  }

 private:
  bool used(std::size_t source) const {
    for (const MixWeights& entry : options_.mix.schedule) {
      if (entry.weights[source] != 0) return true;
    }
    return false;
  }

  bool ended(std::size_t lane, std::uint64_t rows, const std::vector<std::uint64_t>& taken) {
    if (options_.mix.stop == MixStop::steps) return rows == options_.mix.steps * rows_per_lane_of(options_);
    if (options_.mix.stop == MixStop::first) return false;
    for (std::size_t source = 0; source < taken.size(); ++source) {
      if (used(source) && taken[source] < pass(source, 0)[lane].size()) return false;
    }
    return true;
  }

  const NaiveLanes& pass(std::size_t source, std::uint64_t number) {
    std::vector<NaiveLanes>& known = passes_[source];
    while (known.size() <= number) {
      Pass made;
      for (std::size_t i = 0; i < source; ++i) made.first_shard += dataset_.source_shards[i];
      made.shards = dataset_.source_shards[source];
      made.seed = detail::hash_words(std::vector<std::uint64_t>{0x6D6978, options_.seed, source, known.size()}).low;
      made.line_seed = options_.sticky
                           ? detail::hash_words(std::vector<std::uint64_t>{0x6D6978, options_.seed, source, 0}).low
                           : made.seed;
      made.epoch = epoch_;
      known.push_back(lanes_of_pass(dataset_, options_, made, lanes_of(options_)));
    }
    return known[number];
  }

  const DatasetShape& dataset_;
  const PlanOptions& options_;
  std::uint32_t epoch_;
  std::vector<std::vector<NaiveLanes>> passes_;  // [source][pass]
};

}  // namespace

std::uint64_t lanes_of(const PlanOptions& options) {
  return options.lanes != 0 ? options.lanes : options.world / options.replicate;
}

std::uint64_t rows_per_lane_of(const PlanOptions& options) {
  return std::uint64_t{options.world / options.replicate} * options.batch / lanes_of(options);
}

std::optional<NaiveLanes> naive_lanes(const DatasetShape& dataset, const PlanOptions& options, std::uint32_t epoch) {
  if (options.mix.enabled()) return NaiveMix(dataset, options, epoch).lanes();
  return lanes_of_pass(dataset, options, {0, dataset.shards.size(), options.seed, options.seed, epoch},
                       lanes_of(options));
}

std::optional<std::uint64_t> naive_steps(const DatasetShape& dataset, const NaiveLanes& lanes,
                                         const PlanOptions& options) {
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (const Ids& lane : lanes) fewest = std::min<std::uint64_t>(fewest, lane.size());
  std::uint64_t judged = fewest;
  if (options.assign == Assign::files && options.order == OrderKind::shuffle && !options.sticky) {
    std::vector<std::uint64_t> records;
    for (const ShardShape& shard : dataset.shards) records.push_back(shard.records);
    std::sort(records.begin(), records.end());
    records.resize(records.size() / lanes.size());
    judged = std::accumulate(records.begin(), records.end(), std::uint64_t{0});
  }
  if (options.tail == Tail::wrap && judged == 0) return std::nullopt;
  if (options.tail == Tail::drop && judged / rows_per_lane_of(options) == 0) return std::nullopt;
  if (options.tail == Tail::drop) return fewest / rows_per_lane_of(options);
  std::uint64_t most = 0;
  for (const Ids& lane : lanes) most = std::max<std::uint64_t>(most, lane.size());
  const std::uint64_t rows = rows_per_lane_of(options);
  return (most + rows - 1) / rows;
}

NaivePhase naive_change(const NaiveLanes& lanes, std::uint64_t taken, bool ended, const PlanOptions& options) {
  Ids rest;
  for (const Ids& lane : lanes) {
    for (std::uint64_t i = taken; i < lane.size() && !ended; ++i) rest.push_back(lane[i]);
  }
  NaivePhase phase;
  const std::uint64_t count = lanes_of(options);
  const std::uint64_t rows = rows_per_lane_of(options);
  std::uint64_t fewest = rest.size();
  std::uint64_t most = 0;
  for (std::uint64_t lane = 0; lane < count; ++lane) {
    const auto begin = rest.begin() + static_cast<std::ptrdiff_t>(lane * rest.size() / count);
    const auto end = rest.begin() + static_cast<std::ptrdiff_t>((lane + 1) * rest.size() / count);
    phase.lanes.emplace_back(begin, end);
    fewest = std::min<std::uint64_t>(fewest, phase.lanes.back().size());
    most = std::max<std::uint64_t>(most, phase.lanes.back().size());
  }
  phase.steps = options.tail == Tail::drop ? fewest / rows : (most + rows - 1) / rows;
  return phase;
}

PlannedRecord naive_output(const NaiveLanes& lanes, std::uint64_t lane, std::uint64_t output, Tail tail) {
  const Ids& ids = lanes[lane];
  if (output < ids.size()) return {ids[output], RowStatus::first};
  if (tail != Tail::wrap) return {};
  if (!ids.empty()) return {ids[output % ids.size()], RowStatus::repeated};
  // Fewer records than lanes: the next lane that has one lends it.
  for (std::uint64_t next = lane; next < lanes.size(); ++next) {
    if (!lanes[next].empty()) return {lanes[next].front(), RowStatus::repeated};
  }
  return {};
}

}  // namespace dovetail::test
