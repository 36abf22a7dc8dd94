// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reader/delivery/gather.h"
#include "reader/delivery/step.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// Decodes the records of the step's next unit into the columns of its batches, and writes the ids and status of their rows. A
/// batch whose last row is in the unit is finished: rows of damaged records, and of those that do not fit, are filled as asked,
/// and ragged columns and texts laid down. A failure goes to `step.error`, records that do not fit to `step.unfit`.
///
/// Needs:   the unit's loads ready; `step.lease` set; no direct records; `rules.columns`.
/// Threads: any, one at a time for a step. Cost: no allocation per record; some per batch.
void gather_columns(Step& step, SlotRing& ring, const GatherRules& rules);

}  // namespace dovetail::detail
