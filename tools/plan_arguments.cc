// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_arguments.h"

namespace dovetail::tools {

void add_plan_arguments(Flags& flags, PlanOptions& options) {
  using Order = std::pair<std::string_view, OrderKind>;
  using Deal = std::pair<std::string_view, Assign>;
  using End = std::pair<std::string_view, Tail>;
  flags.add("--batch", options.batch, "Rows per rank and step").required().preset("");
  flags.add("--replicate", options.replicate, "This many consecutive ranks read the same rows");
  flags.add("--lanes", options.lanes, "Ordered streams; 0 is one per reader");
  flags.add_choice("--order", options.order,
                   std::array{Order{"shuffle", OrderKind::shuffle}, Order{"sequential", OrderKind::sequential}},
                   "Order of the records");
  flags.add_choice("--assign", options.assign, std::array{Deal{"even", Assign::even}, Deal{"files", Assign::files}},
                   "Cut the line of shards evenly, or keep files whole");
  flags.add_choice("--tail", options.tail,
                   std::array{End{"drop", Tail::drop}, End{"pad", Tail::pad}, End{"wrap", Tail::wrap}},
                   "What becomes of records that do not fill a last step");
  flags.add("--open-runs", options.open_runs, "Runs interleaved at a time");
  flags.add("--pool", options.pool, "Records in the shuffle pool of a lane");
  flags.add("--seed", options.seed, "The same on all ranks");
}

}  // namespace dovetail::tools
