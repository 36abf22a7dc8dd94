// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/epoch_layout.h"

#include <utility>

namespace dovetail::detail {

EpochLayout::EpochLayout(std::shared_ptr<const PlanFacts> plan_facts, std::uint32_t epoch_number,
                         const LaneGrid& base_grid, LaneLengths base_lengths)
    : facts(std::move(plan_facts)), epoch(epoch_number), base(base_grid), lanes(std::move(base_lengths)) {
  if (facts->mix != nullptr) mixed.emplace(facts->mix, base.rows_per_lane);
  if (facts->options.order == OrderKind::global) return;
  for (std::uint32_t source = 0; source < facts->sources.size(); ++source) {
    const Pass first{epoch, source, 0};
    if (facts->options.assign == Assign::runs) {
      first_run_lines.push_back(
          std::make_shared<const RunLine>(facts, source, line_draws(*facts, first, Purpose::run_line)));
    } else {
      first_lines.emplace_back(*facts, base.lanes, first);
    }
  }
}

std::uint64_t EpochLayout::source_records(std::uint32_t source, std::uint32_t lane) const noexcept {
  if (facts->mix == nullptr) return lanes.base().length(lane);
  return LaneLengths::even(facts->sources[source].records, base.lanes).length(lane);
}

PassOrder PassOrders::order(std::uint32_t lane, std::uint32_t source, std::uint64_t pass) {
  const PlanOptions& options = epoch_.facts->options;
  const std::uint64_t seed = pass_seed(*epoch_.facts, {epoch_.epoch, source, pass});
  if (options.order == OrderKind::global) {
    const Source& all = epoch_.facts->sources[source];
    const auto cuts = LaneLengths::even(all.records, epoch_.base.lanes);
    return PassOrder(
        ScatteredLane{.facts = epoch_.facts,
                      .source = all,
                      .records = Permutation::keyed(all.records, Draws(seed, Purpose::global, epoch_.epoch, 0)),
                      .begin = cuts.begin(lane),
                      .end = cuts.begin(std::uint64_t{lane} + 1)});
  }
  const PassKey key{.seed = seed,
                    .epoch = epoch_.epoch,
                    .lane = lane,
                    .shuffled = options.order == OrderKind::shuffle,
                    .open_runs = options.open_runs,
                    .pool = options.pool};
  return {runs(lane, source, pass), key};
}

LaneRuns PassOrders::runs(std::uint32_t lane, std::uint32_t source, std::uint64_t pass) {
  const LaterLine* const later = pass == 0 ? nullptr : &later_line(source, pass);
  if (epoch_.facts->options.assign != Assign::runs) {
    const ShardLine& line = later == nullptr ? epoch_.first_lines[source] : *later->shards;
    return LaneRuns(line.pieces(*epoch_.facts, lane));
  }
  const auto cuts = LaneLengths::even(epoch_.facts->sources[source].records, epoch_.base.lanes);
  return {later == nullptr ? epoch_.first_run_lines[source] : later->runs, cuts.begin(lane),
          cuts.begin(std::uint64_t{lane} + 1)};
}

const PassOrders::LaterLine& PassOrders::later_line(std::uint32_t source, std::uint64_t pass) {
  LaterLine& kept = later_lines_[source];
  if (kept.pass == pass) return kept;
  const Pass wanted{epoch_.epoch, source, pass};
  if (epoch_.facts->options.assign == Assign::runs) {
    kept.runs =
        std::make_shared<const RunLine>(epoch_.facts, source, line_draws(*epoch_.facts, wanted, Purpose::run_line));
  } else {
    kept.shards.emplace(*epoch_.facts, epoch_.base.lanes, wanted);
  }
  kept.pass = pass;
  return kept;
}

}  // namespace dovetail::detail
