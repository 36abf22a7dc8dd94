// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_reading.h"

#include <chrono>
#include <utility>

#include "format/try.h"

namespace dovetail::tools {

namespace {

using BenchClock = std::chrono::steady_clock;

double seconds_since(BenchClock::time_point start) {
  return std::chrono::duration<double>(BenchClock::now() - start).count();
}

double in_seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

void add(const ReaderStats& stats, ReadingPass& pass) {
  pass.batches += stats.batches;
  pass.rows += stats.rows;
  pass.bytes += stats.bytes;
  pass.reads += stats.reads;
  pass.read_bytes += stats.read_bytes;
  pass.direct_bytes += stats.direct_bytes;
  pass.waiting_reads += stats.waiting_reads;
  pass.time_planning += in_seconds(stats.time_planning);
  pass.time_reading += in_seconds(stats.time_reading);
  pass.time_decoding += in_seconds(stats.time_decoding);
  pass.time_gathering += in_seconds(stats.time_gathering);
  pass.waiting_for_storage += in_seconds(stats.waiting_for_storage);
  pass.storage = stats.storage;
  pass.storage_note = stats.storage_note;
}

Result<void> read_round(BatchReader& reader, std::uint64_t steps, double seconds) {
  const BenchClock::time_point start = BenchClock::now();
  // The clock is read once per so many batches, because that costs time with small batches.
  constexpr std::uint64_t kBatches = 16;
  bool ended = false;  // two ends in a row mean that all epochs are over
  for (std::uint64_t done = 0; done < steps && (done % kBatches != 0 || seconds_since(start) < seconds);) {
    DOVETAIL_ASSIGN(const std::optional<Batch> batch, reader.next());
    if (batch.has_value()) ++done;
    if (std::exchange(ended, !batch.has_value()) && ended) break;
  }
  return {};
}

}  // namespace

Result<void> read_pass(const Dataset& dataset, const ReaderOptions& options, std::uint64_t steps, bool once,
                       double seconds, ReadingPass& pass) {
  const BenchClock::time_point start = BenchClock::now();
  do {
    DOVETAIL_ASSIGN(BatchReader reader, BatchReader::open(dataset, options));
    const BenchClock::time_point began = BenchClock::now();
    DOVETAIL_TRY(read_round(reader, steps, seconds - seconds_since(start)));
    pass.seconds += seconds_since(began);
    add(reader.stats(), pass);
  } while (!once && seconds_since(start) < seconds);
  return {};
}

}  // namespace dovetail::tools
