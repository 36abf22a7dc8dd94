// SPDX-License-Identifier: Apache-2.0
#include "convert/shard_jobs.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "format/try.h"
#include "writer/dataset_files.h"

namespace dovetail::detail {

namespace {

// Amount of work between two checks for failure and cancellation.
constexpr std::uint64_t kTickRecords = 1024;
constexpr std::uint64_t kTickBytes = std::uint64_t{1} << 20;
// Limit of the bytes that wait to be encoded, for all threads together.
constexpr std::uint64_t kQueuedBytes = std::uint64_t{512} << 20;
// Threads that share one file: each reads the bytes before its shards, too.
constexpr unsigned kMostInFile = 8;

/// Shards that one thread writes one after the other.
struct Group {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Whether threads can share a file: to skip its records takes much less time than to read them.
bool skips_fast(const InputLine& line) {
  const SourceFormat format = line.sources().front().format;
  return format == SourceFormat::jsonl || format == SourceFormat::csv;
}

// Returns the groups with a missing shard. There are as many groups as the part's share of the
// files, or as threads that share a file.
std::vector<Group> unfinished_groups(const ShardWork& work) {
  const std::uint32_t first = work.tally->begin();
  const std::uint64_t shards = work.tally->end() - first;
  const unsigned __int128 files = static_cast<unsigned __int128>(work.line->files()) * shards;
  const auto share = static_cast<std::uint64_t>((files + work.shards - 1) / work.shards);
  const std::uint64_t wanted =
      std::max<std::uint64_t>(share, skips_fast(*work.line) ? std::min(work.jobs, kMostInFile) : 1);
  const std::uint64_t count = std::min(wanted, std::max<std::uint64_t>(shards, 1));
  std::vector<Group> groups;
  for (std::uint64_t group = 0; group != count; ++group) {
    const auto begin = first + static_cast<std::uint32_t>(shards * group / count);
    const auto end = first + static_cast<std::uint32_t>(shards * (group + 1) / count);
    std::uint32_t shard = begin;
    while (shard != end && work.tally->has(shard)) ++shard;
    if (shard != end) groups.push_back({begin, end});
  }
  return groups;
}

/// The work of one thread: a cursor that only moves forwards, and a pipeline for each dataset.
class ShardJob {
 public:
  ShardJob(const ShardWork& work, FailureGate& gate, ProgressMeter& meter)
      : work_(work), gate_(gate), meter_(meter), cursor_(*work.line, {.shares = work.shards}) {}

  /// Takes groups from `next` on until none is left.
  void run(const std::vector<Group>& groups, std::atomic<std::size_t>& next, unsigned threads) {
    auto pipelines = start_pipelines(work_, threads);
    if (!pipelines) return gate_.fail(0, pipelines.error());
    pipelines_ = std::move(*pipelines);
    if (auto written = write_groups(groups, next); !written) gate_.fail(shard_, written.error());
    // Finish the pipelines even after a failure: complete shards are worth keeping.
    for (auto& pipeline : pipelines_) {
      if (auto finished = pipeline->finish(); !finished) gate_.fail(shard_, finished.error());
    }
  }

 private:
  Result<void> write_groups(const std::vector<Group>& groups, std::atomic<std::size_t>& next) {
    for (std::size_t group = next++; group < groups.size(); group = next++) {
      for (shard_ = groups[group].begin; shard_ != groups[group].end; ++shard_) {
        if (gate_.stops(shard_)) return {};
        if (work_.tally->has(shard_)) continue;
        DOVETAIL_TRY(write_shard());
      }
    }
    return {};
  }

  Result<void> write_shard() {
    for (auto& pipeline : pipelines_) {
      DOVETAIL_TRY(pipeline->begin_shard(shard_));
    }
    const std::uint64_t begin = work_.line->begin_of(shard_, work_.shards);
    const std::uint64_t end = work_.line->begin_of(std::uint64_t{shard_} + 1, work_.shards);
    const auto stopped = [this] { return gate_.stops(shard_); };
    const auto take = [this](const LineCursor& cursor) {
      work_.notes->add(cursor);
      const ByteView record = cursor.record();
      return pipelines_[work_.split->output_of(cursor.key(), record)]->append(record);
    };
    DOVETAIL_TRY(read_range(cursor_, begin, end, meter_, stopped, take));
    if (stopped()) return {};
    work_.skips->add(cursor_.take_skips(shard_));
    for (auto& pipeline : pipelines_) {
      DOVETAIL_TRY(pipeline->end_shard());
    }
    return {};
  }

  const ShardWork& work_;
  FailureGate& gate_;
  ProgressMeter& meter_;
  LineCursor cursor_;
  std::vector<std::unique_ptr<EncodePipeline>> pipelines_;
  std::uint32_t shard_ = 0;
};

std::uint64_t input_to_read(const ShardWork& work) {
  std::uint64_t bytes = 0;
  for (std::uint32_t shard = work.tally->begin(); shard != work.tally->end(); ++shard) {
    if (work.tally->has(shard)) continue;
    const std::uint64_t end = std::min(work.line->begin_of(std::uint64_t{shard} + 1, work.shards), work.line->bytes());
    bytes += end - std::min(work.line->begin_of(shard, work.shards), end);
  }
  return bytes;
}

}  // namespace

Result<void> read_range(LineCursor& cursor, std::uint64_t begin, std::uint64_t end, ProgressMeter& meter,
                        const std::function<bool()>& stopped,
                        const std::function<Result<void>(const LineCursor& cursor)>& take) {
  ProgressMeter::Done done;
  std::uint64_t told = begin;
  const auto tell = [&](std::uint64_t place) -> Result<void> {
    if (place > told) {
      done.input_bytes = place - told;
      done.work = static_cast<double>(done.input_bytes);
      told = place;
    }
    return meter.add(std::exchange(done, {}));
  };
  // Polled while input is skipped, too, which may take long. A source that is opened for this range
  // may serve later ones. These are useless as well then.
  cursor.watch([&meter, stopped] { return stopped() || meter.cancelled(); });
  auto moved = cursor.seek(begin);
  for (; moved && cursor.has_record() && cursor.place() < end; moved = cursor.advance()) {
    // Also checks before the first record, so that a conversion of one shard can be cancelled at
    // once.
    if (done.records % kTickRecords == 0 || done.raw_bytes >= kTickBytes) {
      if (stopped()) return {};
      DOVETAIL_TRY(tell(cursor.place()));
    }
    ++done.records;
    done.raw_bytes += cursor.record().size();
    DOVETAIL_TRY(take(cursor));
  }
  if (!moved) return stopped() ? Result<void>() : moved;
  return tell(std::min(end, cursor.line_bytes()));
}

Result<std::vector<std::unique_ptr<EncodePipeline>>> start_pipelines(const ShardWork& work, unsigned threads) {
  std::vector<std::unique_ptr<EncodePipeline>> pipelines;
  for (std::size_t output = 0; output != work.folders.size(); ++output) {
    const auto publish = [tally = work.tally, output](FinishedShard shard) -> Result<void> {
      DOVETAIL_TRY(shard.file.publish(true));
      const std::uint32_t number = shard_number_of(shard.info.name).value_or(0);
      tally->add(output, std::move(shard.info), number);
      return {};
    };
    DOVETAIL_ASSIGN(
        auto pipeline,
        EncodePipeline::start(work.folders[output], {.shard = work.shard,
                                                     .threads = threads,
                                                     .queued_bytes = kQueuedBytes / work.jobs / work.folders.size(),
                                                     .on_shard = publish}));
    pipelines.push_back(std::move(pipeline));
  }
  return pipelines;
}

Result<void> write_shards(const ShardWork& work) {
  const std::vector<Group> groups = unfinished_groups(work);
  if (groups.empty()) return {};
  const auto readers = static_cast<unsigned>(std::min<std::size_t>(work.jobs, groups.size()));
  const unsigned threads = (work.jobs + readers - 1) / readers;
  std::atomic<std::size_t> next{0};
  FailureGate gate;
  const std::uint64_t input = input_to_read(work);
  ProgressMeter meter(work.progress, input, static_cast<double>(input));
  run_workers(readers, gate, [&] { ShardJob(work, gate, meter).run(groups, next, threads); });
  return gate.outcome();
}

}  // namespace dovetail::detail
