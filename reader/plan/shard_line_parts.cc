// SPDX-License-Identifier: Apache-2.0
#include <dovetail/shard_line.h>

#include <dovetail/state.h>

#include "format/try.h"
#include "reader/plan/plan_builder.h"
#include "reader/plan/shard_line.h"

namespace dovetail {

Result<std::vector<LinePart>> shard_line(const Plan& plan, std::uint32_t epoch) {
  DOVETAIL_ASSIGN(const EpochPlan layout, plan.epoch(epoch));
  std::vector<LinePart> line;
  if (plan.options().order == OrderKind::global || plan.options().assign == Assign::runs) return line;
  DOVETAIL_ASSIGN(const State state, plan.state({epoch, layout.first_step()}));
  const std::uint32_t lanes = state.phases.front().lanes;

  // `facts` borrows the dataset, without ownership. That is safe because `plan` outlives `facts`.
  const std::shared_ptr<const DatasetShape> dataset(std::shared_ptr<void>(), &plan.dataset());
  DOVETAIL_ASSIGN(const detail::PlanFacts facts, detail::make_facts(dataset, plan.options()));
  for (std::uint32_t source = 0; source < facts.sources.size(); ++source) {
    const detail::ShardLine shards(facts, lanes, {epoch, source, 0});
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      for (const detail::LanePiece& piece : shards.pieces(facts, lane)) {
        line.push_back({source, lane, piece.shard, piece.begin, piece.end});
      }
    }
  }
  return line;
}

}  // namespace dovetail
