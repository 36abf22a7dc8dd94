// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "tools/bench/bench_report.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

/// Storage is the limit if more than this share of the reads waits, and the first pass is slower
/// than this share of the second.
constexpr double kManyWaits = 0.02;
constexpr double kSlower = 0.8;
/// A rate of at least this share of its yardstick counts as equal, because measurements vary by as
/// much.
constexpr double kAtLimit = 0.8;
/// A trial helps if it is at least this much faster.
constexpr double kHelps = 1.15;
/// Records, reads and batches below these sizes cost more than their bytes suggest.
constexpr double kSmallRecord = 128;
constexpr double kSmallRead = 32 << 10;
constexpr double kLongRead = 128 << 10;  // if each read waits
constexpr std::uint64_t kSmallBatch = 4 << 10;
/// A rate that any zstd decoder exceeds, even on one thread, in bytes per second.
constexpr double kSlowStorage = 256 << 20;
/// If a reader waits for storage for more than this share of its time, the number of reads limits
/// it, not bytes per second.
constexpr double kMostly = 0.5;

/// Four times the default of `--run-bytes`, or of that, if the runs are not that long already. Even
/// longer runs take much memory and mix worse.
std::string longer_reads(const BenchReport& report) {
  constexpr double kDefaultRun = 128 << 10;  // above the mean of runs of at most 64 KiB
  constexpr double kLongRun = 512 << 10;     // above that of runs of at most 256 KiB
  if (report.piece_raw_bytes >= kLongRun) return {};
  const std::string bytes = report.piece_raw_bytes < kDefaultRun ? "256K" : "1M";
  return " Convert with --run-bytes " + bytes + " for longer reads.";
}

bool waits_for_storage(const BenchReport& report) {
  return report.first.waiting_share() > kManyWaits &&
         report.first.rows_per_second() < kSlower * report.second.rows_per_second();
}

std::string times(double factor) {
  return format::fixed(factor, 1) + " times as fast";
}

/// The best trial, if it helps.
std::string best_trial(const BenchReport& report, bool cold) {
  const Trial* best = nullptr;
  for (const Trial& trial : report.trials) {
    if (trial.cold != cold || report.times(trial) < kHelps) continue;
    if (best == nullptr || report.times(trial) > report.times(*best)) best = &trial;
  }
  return best != nullptr ? " Use " + best->option + ": " + times(report.times(*best)) + "." : "";
}

std::string cold_sentences(const BenchReport& report) {
  const double rate = report.stored_rate(report.first);
  const double cat = report.cat.rate();
  std::string text = "With a cold page cache, storage is the limit: the first pass read " + human_rate(rate) +
                     ", cat " + human_rate(cat) + ".";
  if (cat > 0 && rate >= kAtLimit * cat) {
    text += " That is as fast as this machine reads these files.";
    if (report.compressed_share == 0 && rate < kSlowStorage)
      text += " If the records compress, convert with --codec zstd to read fewer bytes.";
  } else if (report.piece_bytes < kLongRead &&
             report.shares(report.first)[static_cast<std::size_t>(Part::storage)] > kMostly) {
    text += " It waits for single reads." + longer_reads(report);
  }
  return text + best_trial(report, true) + '\n';
}

std::string advice(const BenchReport& report, Part part) {
  const bool per_byte = part == Part::storage || part == Part::decoding || part == Part::columns;
  if (!per_byte && report.second.bytes < kSmallBatch * report.second.batches) return " Larger batches help.";
  switch (part) {
    case Part::storage:
      return report.second.storage == StorageKind::io_uring_direct
                 ? " If the data fit into memory, use --storage automatic."
                 : " The records do not stay in the page cache.";
    case Part::reading:
      return report.piece_bytes < kSmallRead ? longer_reads(report) : "";
    case Part::decoding:
      return report.compressed_share > 0 ? " Convert with a faster --codec, or none." : "";
    case Part::copying:
    case Part::order:
      return report.mean_record() < kSmallRecord ? " The cost per record dominates: pack several records into one."
                                                 : "";
    default:
      return {};
  }
}

}  // namespace

std::string_view to_string(Part part) noexcept {
  constexpr std::array<std::string_view, kParts> kWords{"storage", "reading", "checks", "decoding",
                                                        "copying", "columns", "order",  "handover"};
  return kWords[static_cast<std::size_t>(part)];
}

double BenchReport::share_of_walk() const noexcept {
  if (limits.together() <= 0) return 0;
  const double bytes = columns ? second.rows_per_second() * mean_record() : second.bytes_per_second();
  return bytes / limits.together();
}

double BenchReport::times(const Trial& trial) const noexcept {
  // Compare bytes read: much of a cold pass may go to runs that are not delivered yet.
  const double base = trial.cold ? stored_rate(first) : second.rows_per_second();
  const double rate = trial.cold ? stored_rate(trial.pass) : trial.pass.rows_per_second();
  return base > 0 ? rate / base : 0;
}

bool BenchReport::settled(const ReadingPass& pass) const noexcept {
  const auto delivered = static_cast<double>(pass.bytes);
  const auto raw = static_cast<double>(raw_bytes);
  const bool all = 2 * delivered * world > raw;  // with small blocks, reads exceed the records
  return columns || all ||
         2 * delivered * static_cast<double>(stored_bytes) > static_cast<double>(pass.read_bytes) * raw;
}

double BenchReport::stored_rate(const ReadingPass& pass) const noexcept {
  return pass.seconds > 0 ? static_cast<double>(pass.read_bytes) / pass.seconds : 0;
}

Shares BenchReport::shares(const ReadingPass& pass) const noexcept {
  Shares shares{};
  const auto add = [&](Part part, double seconds) { shares[static_cast<std::size_t>(part)] += std::max(0.0, seconds); };
  // If a time covers several parts, divide it in the proportions of the bare walk.
  const auto split = [&](double seconds, std::initializer_list<std::pair<Part, double>> among) {
    double sum = 0;
    for (const auto& [part, walked] : among) sum += walked;
    for (const auto& [part, walked] : among) add(part, sum > 0 ? seconds * walked / sum : 0);
    if (sum <= 0) add(among.begin()->first, seconds);
  };
  add(Part::reading, pass.time_reading);
  add(Part::order, pass.time_planning);
  split(pass.time_decoding, {{Part::decoding, limits.decode_seconds}, {Part::checks, limits.check_seconds}});
  if (columns) {
    add(Part::columns, pass.time_gathering);
  } else if (2 * pass.direct_bytes > pass.read_bytes) {  // gathering then reads and checks, too
    split(pass.time_gathering, {{Part::reading, limits.read_seconds},
                                {Part::checks, limits.check_seconds},
                                {Part::copying, limits.copy_seconds}});
  } else {
    add(Part::copying, pass.time_gathering);
  }
  const double idle = std::max(0.0, pass.seconds * threads - pass.work());
  const double storage = std::min(idle, pass.waiting_for_storage * threads);
  add(Part::storage, storage);
  add(Part::handover, idle - storage);
  double sum = 0;
  for (const double share : shares) sum += share;
  for (double& share : shares) share = sum > 0 ? share / sum : 0;
  return shares;
}

Verdict judge(const BenchReport& report) {
  Verdict verdict;
  if (waits_for_storage(report)) {
    verdict.first_limited_by = Part::storage;
    verdict.sentences = cold_sentences(report);
  }
  const Shares shares = report.shares(report.second);
  const auto largest = std::max_element(shares.begin(), shares.end());
  verdict.limited_by = static_cast<Part>(largest - shares.begin());
  if (!report.settled(report.second)) {
    verdict.sentences += "The time ended before the first runs were delivered. Raise --seconds.";
    return verdict;
  }
  if (verdict.limited_by != Part::storage && report.share_of_walk() >= kAtLimit) {
    verdict.sentences += "With a warm page cache, this is as fast as " + format::count_of(report.threads, "thread") +
                         " of this machine can be: " + percent(report.share_of_walk(), 0) + " of the bare walk. ";
  }
  verdict.sentences += "The largest share of the time, " + percent(*largest, 0) + ", goes to " +
                       std::string(to_string(verdict.limited_by)) + "." + advice(report, verdict.limited_by) +
                       best_trial(report, false);
  return verdict;
}

}  // namespace dovetail::tools
