// SPDX-License-Identifier: Apache-2.0
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

}  // namespace dovetail::detail
