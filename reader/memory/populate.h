// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Gives a fresh mapping its pages, with several threads: the system clears one page after the other otherwise, and
/// registering does that too, with one thread. Contents stay as they are.
/// Needs: page-aligned, writable, not touched by others meanwhile. Errors: `not_enough_memory` and others of the system.
Result<void> populate(std::span<std::byte> range, unsigned threads);

}  // namespace dovetail::detail
