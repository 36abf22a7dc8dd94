// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// Whether a file is named as TFRecords are: `*.tfrecord`, `*.tfrecords` or `*.tfrec`, `-NNNNN-of-NNNNN` behind or instead of
/// it, compressed or not.
bool has_tfrecord_name(std::string_view path);

}  // namespace dovetail::format
