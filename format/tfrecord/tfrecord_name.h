// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// Whether a file is named as TFRecords are, in capitals or not: `*.tfrecord`, `*.tfrecords`, `*.tfrec` or `*.tfr`, with
/// `-1` or `-NNNNN-of-NNNNN` behind it, or only the latter; compressed or not.
bool has_tfrecord_name(std::string_view path);

}  // namespace dovetail::format
