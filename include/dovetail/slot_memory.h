// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <dovetail/error.h>
#include <dovetail/export.h>

namespace dovetail {

/// Whether slots must lie in memory registered with CUDA.
enum class Registration : std::uint8_t {
  /// Registered if there is a device, plain pages otherwise; the stats tell which and why.
  preferred,
  /// Opening fails without registration.
  required,
  /// Plain pages.
  off,
};

/// Page size of the slots.
enum class HugePages : std::uint8_t {
  /// As the system gives them.
  automatic,
  /// Requested; the system need not have any.
  on,
  /// Small pages, even if the system gives huge ones to everybody.
  off,
};

/// Memory for slots that the caller provides, such as a pinned tensor of a framework.
struct DOVETAIL_EXPORT SlotMemory {
  /// At least as many as requested; begins at a multiple of 256.
  std::span<std::byte> bytes;
  /// Kept until neither the reader nor a batch needs the bytes; may be null.
  std::shared_ptr<void> owner;
};

/// Called once, while the reader is opened, with the total bytes of all slots. An error ends
/// opening; an exception is an error with its text.
using SlotMemoryProvider = std::function<Result<SlotMemory>(std::size_t bytes)>;

}  // namespace dovetail
