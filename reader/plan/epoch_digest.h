// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/identity.h>

#include "reader/plan/epoch_layout.h"

namespace dovetail::detail {

/// The sum of the digests of all first deliveries of an epoch.
/// Cost: proportional to the number of shards. A mix adds at most half the records of the runs that
///       are open where it ends. `drop` adds the records that it leaves out.
Hash128 epoch_digest(const EpochLayout& epoch);

}  // namespace dovetail::detail
