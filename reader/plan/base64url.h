// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::detail {

/// base64url without padding (RFC 4648, section 5).
std::string to_base64url(ByteView bytes);
/// Inverse of `to_base64url`. Empty for any text that `to_base64url` cannot produce.
std::optional<std::vector<std::byte>> from_base64url(std::string_view text);

}  // namespace dovetail::detail
