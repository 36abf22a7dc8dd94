// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// Returns whether a file has a usual name of TFRecords, in capitals or not: `*.tfrecord`,
/// `*.tfrecords`, `*.tfrec` or `*.tfr`, also followed by `-1` or `-NNNNN-of-NNNNN`, or any name
/// ending in `-NNNNN-of-NNNNN`. The suffix of a compression may follow.
bool has_tfrecord_name(std::string_view path);

}  // namespace dovetail::format
