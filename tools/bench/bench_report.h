// SPDX-License-Identifier: Apache-2.0
// The result of `dovetail bench`; text and JSON are views of it.
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

/// The parts that take the time of a reader's threads.
enum class Part : std::uint8_t { storage, reading, checks, decoding, copying, columns, order, handover };
inline constexpr std::size_t kParts = 8;
std::string_view to_string(Part part) noexcept;

/// Indexed by `Part`. The sum is 1.
using Shares = std::array<double, kParts>;

/// A pass over the same steps with another option.
struct Trial {
  std::string option;
  bool cold = false;  ///< Compared with the first pass instead of the second.
  ReadingPass pass;
};

struct BenchReport {
  std::string path;
  std::uint64_t records = 0;
  std::uint64_t shards = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::size_t sampled_blocks = 0;
  double piece_bytes = 0;       ///< Mean stored bytes in one read of a run.
  double piece_raw_bytes = 0;   ///< Mean bytes of the records in it.
  double compressed_share = 0;  ///< Share of the sampled records' bytes that is compressed.

  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t batch = 0;
  unsigned threads = 1;  ///< Threads that the reader may use.
  unsigned cores = 1;    ///< Cores that the process may run on.
  bool columns = false;

  SequentialRead cat;
  Limits limits;
  ReadingPass first;   ///< The page cache as it was found.
  ReadingPass second;  ///< The same steps again.
  std::vector<Trial> trials;

  double mean_record() const noexcept {
    return records > 0 ? static_cast<double>(raw_bytes) / static_cast<double>(records) : 0;
  }
  /// Throughput of the second pass as a share of the bare walk.
  double share_of_walk() const noexcept;
  /// Stored bytes read per second, to compare with `cat`.
  double stored_rate(const ReadingPass& pass) const noexcept;
  /// The speed relative to the pass with which the trial is compared.
  double times(const Trial& trial) const noexcept;
  /// Whether `pass` delivered most of the records that it read. In a short pass, most reads are for
  /// records that stay in the pool.
  bool settled(const ReadingPass& pass) const noexcept;
  Shares shares(const ReadingPass& pass) const noexcept;
};

/// The part that limits reading, and advice.
struct Verdict {
  Part limited_by = Part::decoding;      ///< With a warm page cache.
  std::optional<Part> first_limited_by;  ///< `storage` if the first pass waited for it.
  std::string sentences;
};
Verdict judge(const BenchReport& report);

boost::json::object to_json(const BenchReport& report);
std::string to_text(const BenchReport& report);

}  // namespace dovetail::tools
