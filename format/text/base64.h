// SPDX-License-Identifier: Apache-2.0
// base64 (RFC 4648), without line breaks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// With padding.
std::string to_base64(ByteView bytes);

/// The form for URLs (section 5), without padding.
std::string to_base64url(ByteView bytes);
/// Inverse of `to_base64url`. Empty for any text that `to_base64url` cannot produce.
std::optional<std::vector<std::byte>> from_base64url(std::string_view text);

}  // namespace dovetail::format
