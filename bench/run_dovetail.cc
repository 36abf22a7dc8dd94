// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdint>
#include <span>
#include <stdexcept>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset.h>

#include "bench/batch_gaps.h"
#include "bench/contestants.h"
#include "bench/processes.h"
#include "format/words/reader_words.h"

namespace dovetail::bench {

namespace {

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw std::invalid_argument(text + " is no number");
  return value;
}

StorageKind storage_kind(const std::string& name) {
  if (const auto kind = format::value_of(format::kStorageWords, name)) return *kind;
  throw std::invalid_argument(name + " is no kind of storage");
}

/// `name=value` for experiments with what changes speed only.
void set_option(ReaderOptions& options, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw std::invalid_argument(text + ": must be name=value");
  const std::string name = text.substr(0, equals);
  if (name == "storage") {
    options.storage = storage_kind(text.substr(equals + 1));
    return;
  }
  const std::uint64_t value = number(text.substr(equals + 1));
  if (name == "prefetch") {
    options.prefetch = static_cast<std::uint32_t>(value);
  } else if (name == "max_held") {
    options.max_held = static_cast<std::uint32_t>(value);
  } else if (name == "memory_bytes") {
    options.memory_bytes = value;
  } else if (name == "io_threads") {
    options.io_threads = static_cast<unsigned>(value);
  } else if (name == "decode_threads") {
    options.decode_threads = static_cast<unsigned>(value);
  } else if (name == "open_runs") {
    options.plan.open_runs = static_cast<std::uint32_t>(value);
  } else if (name == "pool") {
    options.plan.pool = static_cast<std::uint32_t>(value);
  } else {
    throw std::invalid_argument(name + " is no option of the reader that can be set here");
  }
}

ReaderOptions options_of(const Job& job) {
  ReaderOptions options;
  options.ranks = {.rank = job.rank, .world = job.world, .local_rank = job.rank, .local_world = job.world};
  options.plan.world = job.world;
  options.plan.batch = kBatch;
  options.plan.pool = kPool;
  options.plan.tail = Tail::pad;  // every record exactly once
  options.epochs = job.epochs;
  for (const std::string& text : job.reader_options) set_option(options, text);
  return options;
}

void take(const Batch& batch, Delivered& delivered) {
  delivered.take(batch.values().data(), batch.offsets());
  if (batch.valid() == batch.rows()) {
    delivered.take_ids(batch.ids());
  } else {
    for (std::uint32_t i = 0; i < batch.rows(); ++i) {
      if (batch.status()[i] == RowStatus::first) delivered.take_ids(batch.ids().subspan(i, 1));
    }
  }
  delivered.rows += batch.valid();
}

}  // namespace

Outcome run_dovetail(const Job& job) {
  Outcome outcome;
  const ReaderOptions options = options_of(job);
  Start start;
  BatchGaps gaps(start);
  start.wait();
  const Dataset dataset = Dataset::open(job.data).value();
  BatchReader reader = BatchReader::open(dataset, options).value();
  for (std::uint32_t epoch = 0; epoch < job.epochs;) {
    std::optional<Batch> batch = reader.next().value();
    if (!batch) {
      ++epoch;
      continue;
    }
    take(*batch, outcome.delivered);
    gaps.taken(outcome);
  }
  gaps.finish(outcome);
  outcome.seconds = start.seconds();
  outcome.cpu_seconds = start.cpu_seconds();
  outcome.stats = reader.stats().to_json();
  return outcome;
}

Outcome run_indexed(const Job& job) {
  return run_dovetail(job);
}

}  // namespace dovetail::bench
