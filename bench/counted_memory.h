// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace dovetail::bench {

/// How the memory of the program grows, from now on: what `new` gave, in bytes as the allocator
/// rounds them. Linking counted_memory.cc makes the whole program count.
///
/// Threads: none. One meter at a time knows its peak.
class MemoryMeter {
 public:
  MemoryMeter() noexcept;

  std::size_t in_use() const noexcept;
  std::size_t peak() const noexcept;

 private:
  std::size_t begin_;
};

}  // namespace dovetail::bench
