// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/batch_reader.h>

#include "reader/delivery/step.h"
#include "reader/fill/column_decoders.h"
#include "reader/memory/slot_ring.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// What gathering must know of the reader's options.
struct GatherRules {
  OnDamage on_damage = OnDamage::fail;
  Oversize oversize = Oversize::fail;
  std::uint32_t rank = 0;
  std::uint32_t rows_per_lane = 1;    ///< Rows of a batch that come from one lane; consecutive.
  ColumnDecoders* columns = nullptr;  ///< Where records become columns.
};

/// The damage of a block as the failure of the batch whose row needs it.
Error damage_at_step(const Error& damage, const Extent& extent, std::uint32_t block_in_extent, const Step& step,
                     std::uint32_t row, const GatherRules& rules);

/// Copies the rows of the step's next unit from their blocks into its slot, each record once, and writes their offsets,
/// ids and status. Direct records are read into their rows and checked there; those that storage would have to wait for
/// are only given their places, and marked in `step.direct`. Of a step that is laid out, only late rows are left to
/// copy. Where records become columns, see `gather_columns`. A failure goes to `step.error`.
///
/// Needs:   the unit's loads ready; `step.lease` set.
/// Threads: any, one at a time for a step. Cost: no allocation, but for a spilled batch and for what has to wait.
void gather_unit(Step& step, SlotRing& ring, const GatherRules& rules, Storage& storage);

/// Of the rows of the step's next unit, which is gathered; none where that failed.
std::uint64_t gathered_bytes(const Step& step);

/// Where a direct record of a gathered unit goes.
ReadInto destination(Step& step, DirectRead& read);

/// Checks a direct record that was read into its row. What fails is read once more, past the page cache, before it
/// counts as damaged. Threads: any.
void check_direct(Step& step, DirectRead& read, Storage& storage);

/// Ends the unit once all of its direct records are checked. In batches that are complete with it, the rows of damaged
/// records are filled as asked.
void finish_unit(Step& step, SlotRing& ring, const GatherRules& rules);

}  // namespace dovetail::detail
