// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <dovetail/error.h>

namespace dovetail {

/// Whether slots must lie in memory registered with CUDA.
enum class Registration : std::uint8_t {
  preferred,  ///< Registered where a device is there, plain pages otherwise; the stats say which and why.
  required,   ///< Opening fails without it.
  off,        ///< Plain pages.
};

/// Pages of the slots.
enum class HugePages : std::uint8_t {
  automatic,  ///< As the system gives them.
  on,         ///< Asked for; the system need not have any.
  off,        ///< Small ones, also where the system gives huge ones to everybody.
};

/// Memory for slots that the caller provides, such as a pinned tensor of a framework.
struct SlotMemory {
  std::span<std::byte> bytes;   ///< At least as many as were asked for; begins at a multiple of 256.
  std::shared_ptr<void> owner;  ///< Kept until neither the reader nor a batch needs the bytes; may be null.
};

/// Called once, while the reader is opened, with the bytes that all slots need together.
using SlotMemoryProvider = std::function<Result<SlotMemory>(std::size_t bytes)>;

}  // namespace dovetail
