// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// Whether a path is the address of something elsewhere, such as `s3://bucket/name`: letters, digits, `+`, `-` or `.`, then
/// `://` (RFC 3986, 3.1).
bool is_address(std::string_view path);

}  // namespace dovetail::format
