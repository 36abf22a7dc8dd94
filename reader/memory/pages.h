// SPDX-License-Identifier: Apache-2.0
// The pages of fresh mappings: where they come from, and when.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The node of a PCI device, given its address (`0000:17:00.0`, upper or lower case). Empty if the
/// system does not know, as on machines with one node.
std::optional<int> numa_node_of_pci(std::string_view address);

/// Makes the pages of a range come from `node`, or from another node if that one is full. A
/// preference only: a slot on the wrong node is slow, but a process killed for lack of memory is
/// worse.
/// Needs: the range is page-aligned and has no pages yet. Errors: those of the system.
Result<void> prefer_numa_node(std::span<std::byte> range, int node);

/// Allocates the pages of a fresh mapping with several threads. Otherwise one thread would clear
/// page after page, on first use or in the registration. The contents do not change.
/// Needs: the range is page-aligned and writable, and no other thread uses it meanwhile. Errors:
///        `not_enough_memory` and others of the system.
Result<void> populate(std::span<std::byte> range, unsigned threads);

}  // namespace dovetail::detail
