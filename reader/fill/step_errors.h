// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/error.h>

namespace dovetail::detail {

/// What a shard failed with, and which records [first, end) of it a rank's step needed.
Error needed_at_step(const Error& failure, std::uint64_t first, std::uint64_t end, std::uint32_t rank,
                     std::uint64_t step, std::uint32_t epoch);

}  // namespace dovetail::detail
