// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_reading.h"

#include <algorithm>
#include <chrono>

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
  pass.waiting_reads += stats.waiting_reads;
  pass.time_planning += in_seconds(stats.time_planning);
  pass.time_reading += in_seconds(stats.time_reading);
  pass.time_decoding += in_seconds(stats.time_decoding);
  pass.time_gathering += in_seconds(stats.time_gathering);
  pass.waiting_for_storage += in_seconds(stats.waiting_for_storage);
  pass.storage = stats.storage;
  pass.storage_note = stats.storage_note;
}

/// Steps that were read.
Result<std::uint64_t> read_round(BatchReader& reader, std::uint64_t steps, double seconds) {
  const BenchClock::time_point start = BenchClock::now();
  std::uint64_t done = 0;
  constexpr std::uint64_t kBatches = 16;  // between looks at the clock, which would show with small ones
  while (done < steps && (done % kBatches != 0 || seconds_since(start) < seconds)) {
    const Result<std::optional<Batch>> batch = reader.next();
    if (!batch) return batch.error();
    if (!batch->has_value()) break;
    ++done;
  }
  return done;
}

}  // namespace

Result<ReadingPass> read_pass(const Dataset& dataset, const ReaderOptions& options, std::uint64_t steps,
                              std::uint64_t rounds, double seconds) {
  ReadingPass pass;
  const BenchClock::time_point start = BenchClock::now();
  do {
    Result<BatchReader> reader = BatchReader::open(dataset, options);
    if (!reader) return reader.error();
    const BenchClock::time_point began = BenchClock::now();
    const Result<std::uint64_t> done = read_round(*reader, steps, seconds - seconds_since(start));
    pass.seconds += seconds_since(began);
    if (!done) return done.error();
    pass.steps = std::max(pass.steps, *done);
    add(reader->stats(), pass);
  } while (++pass.rounds < rounds && seconds_since(start) < seconds);
  return pass;
}

}  // namespace dovetail::tools
