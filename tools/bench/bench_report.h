// SPDX-License-Identifier: Apache-2.0
// What `dovetail bench` found: text and JSON are views of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/bench_limits.h"
#include "tools/bench/bench_reading.h"
#include "tools/command/json.h"

namespace dovetail::tools {

/// Where the time of a reader's threads goes.
enum class Part : std::uint8_t { storage, reading, checks, decoding, copying, columns, order, handover };
inline constexpr std::size_t kParts = 8;
std::string_view to_string(Part part) noexcept;

/// By `Part`; they add up to 1.
using Shares = std::array<double, kParts>;

/// The same steps with another option.
struct Trial {
  std::string option;
  bool cold = false;  ///< To be compared with the first pass, not with the second.
  ReadingPass pass;
};

struct BenchReport {
  std::string path;
  std::uint64_t records = 0;
  std::uint64_t shards = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::size_t sampled_blocks = 0;
  double piece_bytes = 0;       ///< Of a read of a run, stored, on average.
  double compressed_share = 0;  ///< Of the bytes of the sampled records,
  double zstd_share = 0;        ///< and by zstd.

  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t batch = 0;
  unsigned threads = 1;  ///< That the reader may use,
  unsigned cores = 1;    ///< and that the process may run on.
  bool columns = false;

  SequentialRead cat;
  Limits limits;
  ReadingPass first;   ///< The page cache as it was found.
  ReadingPass second;  ///< The same steps again.
  std::vector<Trial> trials;

  double mean_record() const noexcept {
    return records > 0 ? static_cast<double>(raw_bytes) / static_cast<double>(records) : 0;
  }
  /// Of what the bare walk reaches, what the second pass did.
  double share_of_walk() const noexcept;
  /// Bytes a second out of the files, to compare with `cat`.
  double stored_rate(const ReadingPass& pass) const noexcept;
  /// How many times as fast as the pass it is to be compared with.
  double times(const Trial& trial) const noexcept;
  /// Whether the second pass delivered most of what it read; where it is short, the runs of the pool take most of it.
  bool settled(const ReadingPass& pass) const noexcept;
  Shares shares(const ReadingPass& pass) const noexcept;
};

/// What limits reading, and what to do about it.
struct Verdict {
  Part limited_by = Part::decoding;      ///< Out of the page cache.
  std::optional<Part> first_limited_by;  ///< `storage`, where the first pass had to wait for it.
  std::string sentences;
};
Verdict judge(const BenchReport& report);

boost::json::object to_json(const BenchReport& report);
std::string to_text(const BenchReport& report);

}  // namespace dovetail::tools
