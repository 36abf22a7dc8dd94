// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>
#include <dovetail/record_reader.h>

#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

/// What an open shard says about itself: one more read, for the metadata.
Result<ShardDescription> describe(const ShardFile& shard);

}  // namespace dovetail::detail
