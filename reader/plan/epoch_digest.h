// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/identity.h>

#include "reader/plan/epoch_layout.h"

namespace dovetail::detail {

/// The sum of the digests of all first deliveries of an epoch. Cost: proportional to the shards; in a mix also to half the
/// records, at most, of the runs that are open where it ends; with `drop` also to what is left out.
Hash128 epoch_digest(const EpochLayout& epoch);

}  // namespace dovetail::detail
