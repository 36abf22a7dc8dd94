// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "tools/bench/bench_report.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

/// Reads that wait are the cause where there are more of them than this, and without them it goes so much faster.
constexpr double kManyWaits = 0.02;
constexpr double kSlower = 0.8;
/// Threads that are busy for less of their time have nothing to do.
constexpr double kIdle = 0.5;

bool waits_for_storage(const BenchReport& report) {
  const ReadingPass& second = report.second;
  if (second.waiting_share() > kManyWaits && second.work() < kIdle * second.seconds * report.threads) return true;
  return report.first.waiting_share() > kManyWaits &&
         report.first.bytes_per_second() < kSlower * report.second.bytes_per_second();
}

std::string storage_sentence(const BenchReport& report) {
  const std::string rates = "storage gave " + human_rate(report.first.bytes_per_second()) +
                            " of records in the first pass, and the second one reached " +
                            human_rate(report.second.bytes_per_second());
  if (report.second.storage == StorageKind::io_uring_direct) {
    return "Storage limits: " + rates +
           "; a faster device, or --storage auto where the data fit into memory, would help.";
  }
  return "Storage limits where the page cache is cold: " + rates +
         "; memory for the data, a faster device, or --storage io_uring_direct on a fast one would help.";
}

/// What more threads would give, where the machine has them.
std::string more_threads(const BenchReport& report) {
  return "more threads per rank would help until " + human_rate(report.limits.together() * report.cores) +
         " with all " + std::to_string(report.cores) + " cores";
}

std::string sentence(const BenchReport& report, Bottleneck bottleneck) {
  const bool spare_cores = report.threads < report.cores;
  const std::string threads =
      report.threads == 1 ? "the one thread" : "all " + std::to_string(report.threads) + " threads";
  switch (bottleneck) {
    case Bottleneck::storage:
      return storage_sentence(report);
    case Bottleneck::decoding:
      if (spare_cores) return "Decoding limits: " + more_threads(report) + ".";
      if (report.limits.compressed_bytes > 0) {
        return "Decoding limits, on " + threads + ": data that are stored with --codec none could be read at up to " +
               human_rate(report.limits.together_uncompressed() * report.threads) + ".";
      }
      return "Checking blocks limits, on " + threads + ": only more cores would help.";
    case Bottleneck::reading:
      if (spare_cores) return "Copying out of the page cache limits: " + more_threads(report) + ".";
      return "Copying out of the page cache limits, on " + threads + ": only more cores would help.";
    case Bottleneck::gathering:
      if (spare_cores) return "Copying records into rows limits: " + more_threads(report) + ".";
      return "Copying records into rows limits, on " + threads + ": only more cores or larger records would help.";
    case Bottleneck::planning:
      break;
  }
  return "Planning limits, which costs the same for every record: larger records would help.";
}

}  // namespace

std::string_view to_string(Bottleneck bottleneck) noexcept {
  switch (bottleneck) {
    case Bottleneck::storage:
      return "storage";
    case Bottleneck::reading:
      return "reading";
    case Bottleneck::decoding:
      return "decoding";
    case Bottleneck::gathering:
      return "gathering";
    case Bottleneck::planning:
      break;
  }
  return "planning";
}

Verdict judge(const BenchReport& report) {
  Verdict verdict;
  if (waits_for_storage(report)) {
    verdict.limited_by = Bottleneck::storage;
  } else {
    const ReadingPass& pass = report.second;
    const std::array<std::pair<double, Bottleneck>, 4> work{{{pass.time_reading, Bottleneck::reading},
                                                             {pass.time_decoding, Bottleneck::decoding},
                                                             {pass.time_gathering, Bottleneck::gathering},
                                                             {pass.time_planning, Bottleneck::planning}}};
    verdict.limited_by = std::max_element(work.begin(), work.end(), [](const auto& a, const auto& b) {
                           return a.first < b.first;
                         })->second;
  }
  // Gathering reads large records straight into their rows, and copies none of them.
  if (verdict.limited_by == Bottleneck::gathering && 2 * report.limits.copied_bytes < report.limits.raw_bytes) {
    verdict.limited_by = Bottleneck::reading;
  }
  verdict.sentence = sentence(report, verdict.limited_by);
  return verdict;
}

}  // namespace dovetail::tools
