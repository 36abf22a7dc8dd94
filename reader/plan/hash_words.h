// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <dovetail/identity.h>

namespace dovetail::detail {

/// A 128-bit hash of a list of 64-bit words, the same on every machine. docs/order.md, "Hash of
/// words".
///
/// Not cryptographic. The length is hashed first, so lists of different lengths do not collide by
/// padding.
Hash128 hash_words(std::span<const std::uint64_t> words) noexcept;

}  // namespace dovetail::detail
