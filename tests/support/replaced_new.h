// SPDX-License-Identifier: Apache-2.0
// What a program asks the allocator for: counted, and refused when a test says so. The program that
// links this has its `operator new`, as sanitizers have theirs, so it is left out with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::test {

/// Says of each allocation, by its size and on its thread, whether there is memory for it. Must not
/// allocate.
using MemoryRule = bool (*)(std::size_t bytes);

/// From now on; null where there is always memory.
void set_memory_rule(MemoryRule rule) noexcept;

/// What all threads have asked for so far.
std::uint64_t allocations() noexcept;
/// Bytes that are allocated now, and the most of them since `forget_peak`.
std::size_t allocated_bytes() noexcept;
std::size_t peak_bytes() noexcept;
void forget_peak() noexcept;

}  // namespace dovetail::test
