// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dovetail::format {

/// Returns whether `path` is a URL such as `s3://bucket/name`: a scheme of letters, digits, `+`,
/// `-` or `.`, then `://` (RFC 3986, section 3.1).
bool is_address(std::string_view path);

}  // namespace dovetail::format
