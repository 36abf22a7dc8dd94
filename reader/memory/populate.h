// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Allocates the pages of a fresh mapping with several threads. Otherwise one thread would clear
/// page after page, on first use or in the registration. The contents do not change.
/// Needs: the range is page-aligned and writable, and no other thread uses it meanwhile. Errors:
///        `not_enough_memory` and others of the system.
Result<void> populate(std::span<std::byte> range, unsigned threads);

}  // namespace dovetail::detail
