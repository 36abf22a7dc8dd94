// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "reader/delivery/gather.h"
#include "reader/delivery/load.h"
#include "reader/delivery/step.h"

namespace dovetail::detail {

/// Copies the records of a load that has just been decoded to their destinations, counted from `first_slot`.
///
/// With `streams`, rows are written past the caches: those of one block lie in as many batches as their run has records
/// with others in between, and would push out of the caches what is still needed there.
/// Threads: any; destinations never overlap. Cost: no allocation.
void scatter(const Load& load, std::byte* first_slot, bool streams);

/// Copies the late rows of the step's next unit, and marks those that are lost; under `OnDamage::fail`, the first of
/// these is the step's error. Needs: the unit's loads ready; the step laid out.
void fill_late_rows(Step& step, const GatherRules& rules);

}  // namespace dovetail::detail
