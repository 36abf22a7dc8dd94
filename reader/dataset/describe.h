// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>
#include <dovetail/record_reader.h>

#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

/// The description of an open shard. Reads its metadata, which takes one more read.
Result<ShardDescription> describe(const ShardFile& shard);

}  // namespace dovetail::detail
