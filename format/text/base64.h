// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// Encodes by RFC 4648, with padding, without line breaks.
std::string to_base64(ByteView bytes);

}  // namespace dovetail::format
