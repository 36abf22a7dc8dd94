// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/batch_reader.h>

#include "reader/delivery/step.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// What gathering must know of the reader's options.
struct GatherRules {
  OnDamage on_damage = OnDamage::fail;
  Oversize oversize = Oversize::fail;
  std::uint32_t rank = 0;
  std::uint32_t rows_per_lane = 1;  ///< Rows of a batch that come from one lane; consecutive.
};

/// Copies the rows of the step's next unit from their blocks into its slot, each record once, and writes their offsets,
/// ids and status. After the last unit the rows of damaged records are filled as asked. Failures go to `step.error`.
///
/// Needs:   the unit's extents ready and pinned; `step.lease` set.
/// Threads: any, one at a time for a step. Cost: no allocation, but for a spilled batch.
void gather_next_unit(Step& step, SlotRing& ring, const GatherRules& rules);

}  // namespace dovetail::detail
