// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// How many bytes behind the decoded ones are worth giving to `snappy_decode`; more are not used.
inline constexpr std::size_t kDecodeSlack = 64;

/// What a raw Snappy stream begins with.
struct SnappyPreamble {
  std::uint32_t raw_bytes = 0;  ///< The decoded length, as the stream claims it.
  std::size_t bytes = 0;        ///< The length of the preamble itself, 1 to 5.
};

/// Reads the preamble of `stored`. Empty where it is cut off or says more than 32 bits.
std::optional<SnappyPreamble> read_snappy_preamble(ByteView stored) noexcept;

/// Decodes a raw Snappy stream (google/snappy, format_description.txt) that is to give exactly `raw_bytes` bytes.
///
/// The decoded bytes fill the front of `out`. What is behind them in `out`, up to `kDecodeSlack` bytes, may be
/// overwritten with anything; where it is there, the last bytes are decoded faster. Whatever `stored` holds, nothing
/// outside of `stored` is read and nothing outside of `out` is touched.
///
/// Needs:   `out.size() >= raw_bytes`; `stored` and `out` do not overlap.
/// Returns: true exactly where the packaged library's `snappy::RawUncompress` does and the preamble says `raw_bytes`;
///          after false the content of `out` is unspecified.
/// Threads: any. Cost: one pass, no allocation; about twice as fast as Debian 12's libsnappy (bench/snappy_bench.cc).
bool snappy_decode(ByteView stored, std::uint32_t raw_bytes, std::span<std::byte> out) noexcept;

}  // namespace dovetail::format
