// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Nodes with memory of their own; 1 where the system does not say.
unsigned numa_nodes();

/// The node that a PCI device hangs on, by its address (`0000:17:00.0`, in any case); nothing where the system does not
/// know, as on machines with one node.
std::optional<int> numa_node_of_pci(std::string_view address);

/// Asks for the pages of a range that has none yet to come from a node, or from another where that one is full: a slot on
/// the wrong node is slow, a process killed for lack of memory is worse.
/// Needs: page-aligned. Errors: the system's.
Result<void> prefer_numa_node(std::span<std::byte> range, int node);

}  // namespace dovetail::detail
