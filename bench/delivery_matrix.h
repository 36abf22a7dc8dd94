// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/bench_data.h"
#include "bench/job.h"
#include "bench/limits.h"
#include "bench/workloads.h"

namespace dovetail::bench {

/// How a machine is shared out.
enum class Mode : std::uint8_t {
  two_processes,  ///< Ranks 0 and 1 of two, each on a processor of its own.
  one_process,    ///< One rank on two processors.
  one_core,       ///< One rank on one processor.
};
std::string_view to_string(Mode mode) noexcept;

/// What is measured, and how often.
struct Settings {
  DataSettings data;
  std::vector<std::string> workloads = {"w1", "w2", "w3", "w4"};
  std::vector<std::string> codecs = {"stored", "snappy"};
  std::vector<std::string> modes = {"two_processes", "one_process"};
  std::vector<std::string> caches = {"warm", "cold"};
  bool all_codecs = false;  ///< Snappy also for W2, whose bytes cannot be compressed.
  bool peers = true;
  bool limits = true;
  std::uint32_t rounds = 5;
  std::uint32_t cold_rounds = 3;
  std::uint32_t warmups = 1;                ///< Rounds before these that do not count.
  std::uint64_t bytes = 4'000'000'000;      ///< A warm measurement reads as many epochs as give this.
  double limit_seconds = 0.25;              ///< For each limit, in each round.
  std::vector<std::string> reader_options;  ///< For Dovetail.
};

/// All processes of one measurement taken together.
struct Measured {
  double bytes_per_second = 0;               ///< From the first batch on, as long as the slowest process took.
  double bytes_per_second_with_opening = 0;  ///< From the start on.
  double rows_per_second = 0;                ///< From the first batch on.
  double cpu_seconds_per_gb = 0;
  double other_load = 0;           ///< Share of the processors that other programs took meanwhile.
  double first_batch_seconds = 0;  ///< Of the slowest process.
  double longest_gap_seconds = 0;  ///< Of all processes,
  double p999_gap_seconds = 0;     ///< and the greatest of theirs.
  std::uint64_t peak_rss_kib = 0;  ///< Of the largest process.
  std::vector<Outcome> outcomes;
};

/// One thing that is measured in every round.
struct Cell {
  std::string task;
  Form form = Form::stored;
  Mode mode = Mode::two_processes;
  bool cold = false;
  const Limit* limit = nullptr;  ///< Nothing for contestants.
  std::uint32_t epochs = 1;
  std::vector<Measured> rounds = {};
  std::string skipped = {};  ///< Why there are no rounds, or why the last one is missing.
  bool impossible = false;   ///< Not even tried.
};

/// One workload, and all that was measured with it.
struct WorkloadResult {
  std::string name;
  std::uint64_t records = 0;
  std::map<Form, Data> data;
  std::vector<Cell> cells;
};

/// Makes the data and measures, one cell after the other in each round, so that all see the same
/// changes of the machine. Says on the standard error what it does. Throws where something fails or
/// delivers other records than the data have.
WorkloadResult measure(const Workload& workload, const Settings& settings);

}  // namespace dovetail::bench
