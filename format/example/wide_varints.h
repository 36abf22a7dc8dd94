// SPDX-License-Identifier: Apache-2.0
// Packed varints in vectors of 64 bytes. `packed_ints` uses it for the short ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// Whether this processor has the instructions for the other functions: AVX-512 with VBMI2 (Intel
/// since Ice Lake, AMD since Zen 4).
bool can_take_wide() noexcept;

struct VarintCount {
  std::uint64_t varints = 0;
  std::size_t bytes = 0;  // looked at
  std::size_t open = 0;   // bytes, the last ones, of a varint that has not ended yet
};

/// Counts varints in whole vectors of 64 bytes. Stops before a vector with the fourth byte of a
/// longer varint: a caller goes on from there. Needs: `can_take_wide()`.
VarintCount count_wide(ByteView packed) noexcept;

/// A place in packed varints, and in the numbers that they become.
struct VarintPlace {
  const std::byte* at;
  std::byte* to;
  std::uint64_t left;  // numbers that have room
};

/// Unpacks varints of up to four bytes to numbers of 4 or 8 bytes. Stops at the end, before a vector
/// with the fourth byte of a longer varint, or where numbers have no room: a caller goes on from
/// there. Needs: `can_take_wide()`; a varint begins at `place.at`.
VarintPlace take_wide_4(VarintPlace place, const std::byte* end) noexcept;
VarintPlace take_wide_8(VarintPlace place, const std::byte* end) noexcept;

}  // namespace dovetail::format
