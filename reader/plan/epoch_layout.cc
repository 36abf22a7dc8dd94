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
    first_lines.emplace_back(*facts, base.lanes, Pass{epoch, source, 0});
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
  return {pieces(lane, source, pass), key};
}

std::vector<Piece> PassOrders::pieces(std::uint32_t lane, std::uint32_t source, std::uint64_t pass) {
  return line(source, pass).pieces(*epoch_.facts, lane);
}

const ShardLine& PassOrders::line(std::uint32_t source, std::uint64_t pass) {
  if (pass == 0) return epoch_.first_lines[source];
  LaterLine& kept = later_lines_[source];
  if (kept.pass != pass) {
    kept.line.emplace(*epoch_.facts, epoch_.base.lanes, Pass{epoch_.epoch, source, pass});
    kept.pass = pass;
  }
  return *kept.line;
}

}  // namespace dovetail::detail
