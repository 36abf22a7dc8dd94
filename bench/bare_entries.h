// SPDX-License-Identifier: Apache-2.0
// What a record is on its way through the bare walk, and how a turn deals it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reader/plan/side_by_side.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOVETAIL_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DOVETAIL_VECTORS
#endif

namespace dovetail::bench {

/// A record on its way: all of them have one size, or each brings its own.
struct Entry {
  std::uint64_t where = 0;  ///< Its address; of an image, the number of its block.
  std::uint64_t id = 0;
};
struct SizedEntry {
  std::uint64_t where = 0;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
};

inline const std::byte* address_of(std::uint64_t where) {
  return reinterpret_cast<const std::byte*>(where);  // NOLINT(performance-no-int-to-ptr)
}

// The runs that give a record in each turn: number in the group, address and id of record 0; and of
// their next record its number, the stride and the size of the run.
using Bases = detail::SideBySide<std::uint32_t, std::uint64_t, std::uint64_t>;
using Turns = detail::SideBySide<std::uint32_t, std::uint32_t, std::uint32_t>;

/// One turn where all records have `bytes` bytes.
DOVETAIL_VECTORS
inline void deal_turn(std::size_t count, const std::uint64_t* __restrict base, const std::uint64_t* __restrict id,
                      std::uint32_t* __restrict at, const std::uint32_t* __restrict step,
                      const std::uint32_t* __restrict size, std::uint32_t bytes, Entry* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {base[i] + std::uint64_t{at[i]} * bytes, id[i] + at[i]};
    const std::uint32_t moved = at[i] + step[i];
    at[i] = std::min(moved, moved - size[i]);  // what is not to be taken off wraps and is the larger one
  }
}

/// Where a record of a run lies, from the beginning of the run's memory.
struct Extent {
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;
};

}  // namespace dovetail::bench
