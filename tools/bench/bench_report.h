// SPDX-License-Identifier: Apache-2.0
// What `dovetail bench` found: text and JSON are views of it.
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/bench_limits.h"
#include "tools/bench/bench_reading.h"
#include "tools/command/json.h"

namespace dovetail::tools {

struct BenchReport {
  std::string path;
  std::uint64_t records = 0;
  std::uint64_t shards = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::size_t sampled_blocks = 0;
  double compressed_share = 0;  ///< Of the bytes of the sampled records.

  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t batch = 0;
  unsigned threads = 1;  ///< That the reader may use,
  unsigned cores = 1;    ///< and that the process may run on.

  Limits limits;
  ReadingPass first;   ///< The page cache as it was found.
  ReadingPass second;  ///< The same steps again.

  /// Bytes of records a second that all threads together could deliver.
  double limit() const noexcept { return limits.together() * threads; }
  /// Of it, what the second pass reached.
  double share_of_limit() const noexcept { return limit() > 0 ? second.bytes_per_second() / limit() : 0; }
};

/// What a reader does most of, or waits for.
enum class Bottleneck : std::uint8_t { storage, reading, decoding, gathering, planning };
std::string_view to_string(Bottleneck bottleneck) noexcept;

/// What limits reading, and what to do about it.
struct Verdict {
  Bottleneck limited_by = Bottleneck::decoding;
  std::string sentence;
};
Verdict judge(const BenchReport& report);

boost::json::object to_json(const BenchReport& report);
std::string to_text(const BenchReport& report);

}  // namespace dovetail::tools
