// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// Returns two lower-case digits per byte.
std::string hex(ByteView bytes);

/// Returns 16 lower-case digits.
std::string hex64(std::uint64_t value);

}  // namespace dovetail::format
